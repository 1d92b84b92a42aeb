// A cache that many ask at once: each key is computed once, all others wait for it.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

type cache struct {
	mu       sync.Mutex
	entries  map[int]*entry
	computed atomic.Int64
}

type entry struct {
	once  sync.Once
	value int
}

func (c *cache) get(key int) int {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		e = &entry{}
		c.entries[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() {
		c.computed.Add(1)
		for range 20 {
			runtime.Gosched() // slow work: the others come meanwhile
		}
		e.value = key * key
	})
	return e.value
}

func main() {
	c := &cache{entries: map[int]*entry{}}
	var askers sync.WaitGroup
	var sum atomic.Int64
	for asker := range 50 {
		askers.Go(func() {
			for i := range 10 {
				sum.Add(int64(c.get((asker + i) % 10)))
			}
		})
	}
	askers.Wait()
	fmt.Println("asked 500 times, computed", c.computed.Load(), "times, sum", sum.Load())
}
