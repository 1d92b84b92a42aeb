// The primes below 100, from a chain of filters.
package main

import "fmt"

const limit = 100

func generate(out chan<- int) {
	for n := 2; n < limit; n++ {
		out <- n
	}
	close(out)
}

func filter(prime int, in <-chan int, out chan<- int) {
	for n := range in {
		if n%prime != 0 {
			out <- n
		}
	}
	close(out)
}

func main() {
	numbers := make(chan int)
	go generate(numbers)
	for {
		prime, ok := <-numbers
		if !ok {
			break
		}
		fmt.Println(prime)
		rest := make(chan int)
		go filter(prime, numbers, rest)
		numbers = rest
	}
}
