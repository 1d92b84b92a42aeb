// A closed channel as a starting gun, and goroutines that end in the middle of what they do.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

func main() {
	gate := make(chan struct{})
	var started, returned atomic.Int64
	var runners sync.WaitGroup
	for number := range 100 {
		runners.Go(func() {
			<-gate
			started.Add(1)
			if number%3 == 0 {
				runtime.Goexit()
			}
			returned.Add(1)
		})
	}
	for range 1000 {
		runtime.Gosched()
	}
	fmt.Println("before the shot:", started.Load())
	close(gate)
	runners.Wait()
	fmt.Println("started", started.Load(), "- returned", returned.Load())
	_, ok := <-gate
	fmt.Println("the gate stays open:", !ok)
}
