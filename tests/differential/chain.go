// Ten thousand goroutines in a row: each adds one to what comes from its right.
package main

import "fmt"

const links = 10000

func pass(left chan<- int, right <-chan int) {
	left <- 1 + <-right
}

func main() {
	leftmost := make(chan int)
	right := leftmost
	left := leftmost
	for range links {
		right = make(chan int)
		go pass(left, right)
		left = right
	}
	right <- 0
	fmt.Println(<-leftmost)
}
