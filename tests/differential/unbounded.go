// A channel without a limit: a goroutine with a queue between two unbuffered ones.
package main

import "fmt"

func unbounded(in <-chan int, out chan<- int) {
	defer close(out)
	var queue []int
	for in != nil || len(queue) > 0 {
		var to chan<- int // nil while there is nothing to send
		first := 0
		if len(queue) > 0 {
			to, first = out, queue[0]
		}
		select {
		case v, ok := <-in:
			if ok {
				queue = append(queue, v)
			} else {
				in = nil
			}
		case to <- first:
			queue = queue[1:]
		}
	}
}

func main() {
	in, out := make(chan int), make(chan int)
	go unbounded(in, out)
	for i := range 1000 {
		in <- i // nobody receives yet
	}
	fmt.Println("all are in")
	sum, ordered := 0, true
	for i := range 500 {
		v := <-out
		sum, ordered = sum+v, ordered && v == i
	}
	fmt.Println("half:", sum, ordered)
	in <- 1000
	close(in)
	count := 0
	for v := range out {
		sum, ordered = sum+v, ordered && v == 500+count
		count++
	}
	fmt.Println("rest:", count, sum, ordered)
}
