// One source, four workers, one sink: the longest way to 1 by Collatz's rule.
package main

import (
	"fmt"
	"sync"
)

type result struct{ n, steps int }

func collatz(n int) int {
	steps := 0
	for n != 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		steps++
	}
	return steps
}

func main() {
	numbers, results := make(chan int), make(chan result)
	go func() {
		for n := 1; n <= 1000; n++ {
			numbers <- n
		}
		close(numbers)
	}()
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for n := range numbers {
				results <- result{n, collatz(n)}
			}
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()

	count, total, best := 0, 0, result{}
	for r := range results {
		count++
		total += r.steps
		if r.steps > best.steps || r.steps == best.steps && r.n < best.n {
			best = r
		}
	}
	fmt.Println(count, "numbers,", total, "steps; most for", best.n, "with", best.steps)
}
