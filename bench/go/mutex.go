package main

import (
	"sync"
	"time"
)

func init() {
	reg("mutex_uncontended", "core", benchMutexUncontended)
	reg("mutex8", "core", benchMutex8)
}

// One operation is one critical section that adds 1.
func benchMutexUncontended() {
	n := scaled(800_000)
	measure("mutex_uncontended", 1, params{"iters": n}, func() (time.Duration, int) {
		var mu sync.Mutex
		c := 0
		t := time.Now()
		for range n {
			mu.Lock()
			c++
			mu.Unlock()
		}
		sink += uint64(c)
		return time.Since(t), n
	})
}

// The same by eight goroutines.
func benchMutex8() {
	n := scaled(800_000)
	per := n / 8
	for _, p := range procList() {
		measure("mutex8", p, params{"tasks": 8, "ops": n}, func() (time.Duration, int) {
			var mu sync.Mutex
			var wg sync.WaitGroup
			c := 0
			wg.Add(8)
			t := time.Now()
			for range 8 {
				go func() {
					for range per {
						mu.Lock()
						c++
						mu.Unlock()
					}
					wg.Done()
				}()
			}
			wg.Wait()
			d := time.Since(t)
			check("mutex8", c == per*8)
			return d, per * 8
		})
	}
}
