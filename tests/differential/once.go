// Work that is done once, whoever comes first, and whoever comes meanwhile.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

func main() {
	var once sync.Once
	var runs, ready, unready atomic.Int64
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			once.Do(func() {
				for range 10 {
					runtime.Gosched()
				}
				runs.Add(1)
				ready.Store(1)
			})
			if ready.Load() == 0 {
				unready.Add(1)
			}
		})
	}
	callers.Wait()
	fmt.Println("runs", runs.Load(), "- came back too early", unready.Load())

	table := sync.OnceValue(func() []int {
		runs.Add(1)
		squares := []int{}
		for i := range 10 {
			squares = append(squares, i*i)
		}
		return squares
	})
	sums := make(chan int)
	for i := range 10 {
		go func() { sums <- table()[i] }()
	}
	sum := 0
	for range 10 {
		sum += <-sums
	}
	fmt.Println("sum", sum, "- runs", runs.Load())
}
