// A sorting network: each comparator is a goroutine between two wires, batches flow through one after the other.
package main

import (
	"fmt"
	"strings"
)

const wires, batches = 8, 5

func comparator(a, b <-chan int) (low, high chan int) {
	low, high = make(chan int), make(chan int)
	go func() {
		defer close(low)
		defer close(high)
		for x := range a {
			y := <-b
			low <- min(x, y)
			high <- max(x, y)
		}
	}()
	return low, high
}

func main() {
	var in, wire [wires]chan int
	for i := range in {
		in[i] = make(chan int)
	}
	wire = in
	comparators := 0
	for round := range wires {
		for i := round % 2; i+1 < wires; i += 2 {
			wire[i], wire[i+1] = comparator(wire[i], wire[i+1])
			comparators++
		}
	}
	fmt.Println(comparators, "comparators")
	seed := uint32(3)
	var numbers [batches][wires]int
	for b := range batches {
		for i := range wires {
			seed = seed*1664525 + 1013904223
			numbers[b][i] = int(seed>>16) % 100
		}
	}
	for i, to := range in {
		go func() {
			defer close(to)
			for b := range batches {
				to <- numbers[b][i]
			}
		}()
	}
	for range batches {
		var line []string
		for _, from := range wire {
			line = append(line, fmt.Sprint(<-from))
		}
		fmt.Println(strings.Join(line, " "))
	}
}
