package main

import (
	"runtime"
	"sync"
	"time"
)

func init() {
	reg("yield2", "core", func() { benchYield("yield2", 2, scaled(500_000)) })
	reg("yield1000", "core", func() { benchYield("yield1000", 1000, scaled(1000)) })
}

// So many goroutines that only yield; one operation is one yield, which is one switch.
func benchYield(name string, tasks, each int) {
	measure(name, 1, params{"tasks": tasks, "yields_each": each}, func() (time.Duration, int) {
		var wg sync.WaitGroup
		wg.Add(tasks)
		t := time.Now()
		for range tasks {
			go func() {
				for range each {
					runtime.Gosched()
				}
				wg.Done()
			}()
		}
		wg.Wait()
		return time.Since(t), tasks * each
	})
}
