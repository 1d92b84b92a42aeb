// A token goes round a ring of 503 goroutines 10,000 times: who has it last?
package main

import "fmt"

const members, passes = 503, 10000

func member(number int, from <-chan int, to chan<- int, last chan<- int) {
	for token := range from {
		if token == 0 {
			last <- number
			break
		}
		to <- token - 1
	}
	close(to)
}

func main() {
	last := make(chan int, 1)
	first := make(chan int, 1)
	from := first
	for number := 1; number <= members; number++ {
		to := make(chan int, 1)
		if number == members {
			to = first
		}
		go member(number, from, to, last)
		from = to
	}
	first <- passes
	fmt.Println("the last one is", <-last)
}
