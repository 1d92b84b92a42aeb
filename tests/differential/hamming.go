// Hamming's numbers, 2^a 3^b 5^c in order: a network of goroutines that feeds itself.
package main

import "fmt"

const wanted, room = 40, 100

func times(factor int, in <-chan int) <-chan int {
	out := make(chan int, room)
	go func() {
		defer close(out)
		for n := range in {
			out <- factor * n
		}
	}()
	return out
}

// merge puts two rising streams into one, without what is in both.
func merge(a, b <-chan int) <-chan int {
	out := make(chan int, room)
	go func() {
		defer close(out)
		x, okX := <-a
		y, okY := <-b
		for okX && okY {
			least := min(x, y)
			out <- least
			if x == least {
				x, okX = <-a
			}
			if y == least {
				y, okY = <-b
			}
		}
	}()
	return out
}

func main() {
	var loops [3]chan int
	for i := range loops {
		loops[i] = make(chan int, room)
	}
	next := merge(times(2, loops[0]), merge(times(3, loops[1]), times(5, loops[2])))
	n := 1
	for range wanted {
		fmt.Println(n)
		for _, loop := range loops {
			loop <- n
		}
		n = <-next
	}
	for _, loop := range loops {
		close(loop)
	}
}
