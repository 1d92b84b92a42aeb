package main

import (
	"sync"
	"time"
)

func init() {
	reg("spawn_batch", "core", benchSpawnBatch)
	reg("spawn_one", "core", benchSpawnOne)
}

// 100,000 goroutines behind one WaitGroup.
func benchSpawnBatch() {
	n := scaled(100_000)
	for _, p := range procList() {
		measure("spawn_batch", p, params{"batch": n}, func() (time.Duration, int) {
			var wg sync.WaitGroup
			wg.Add(n)
			t := time.Now()
			for range n {
				go func() { wg.Done() }()
			}
			wg.Wait()
			return time.Since(t), n
		})
	}
}

// One goroutine after the other: spawn, switch, exit, and the waiter's wake-up.
func benchSpawnOne() {
	n := scaled(100_000)
	for _, p := range procList() {
		measure("spawn_one", p, params{"iters": n}, func() (time.Duration, int) {
			var wg sync.WaitGroup
			t := time.Now()
			for range n {
				wg.Add(1)
				go func() { wg.Done() }()
				wg.Wait()
			}
			return time.Since(t), n
		})
	}
}
