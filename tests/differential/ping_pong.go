// Two players and one ball: unbuffered channels make them take turns.
package main

import "fmt"

func player(name string, table, other chan int, over chan<- string) {
	for hits := range table {
		fmt.Println(name, hits)
		if hits == 10 {
			close(other)
			over <- name + " won"
			return
		}
		other <- hits + 1
	}
	over <- name + " lost"
}

func main() {
	left, right, over := make(chan int), make(chan int), make(chan string)
	go player("ping", left, right, over)
	go player("pong", right, left, over)
	left <- 1
	a, b := <-over, <-over
	if a > b {
		a, b = b, a
	}
	fmt.Println(a, "-", b)
}
