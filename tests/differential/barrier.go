// A barrier of a mutex and a condition: nobody begins a phase before all have ended the last.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

const workers, phases = 8, 5

type barrier struct {
	mu         sync.Mutex
	all        *sync.Cond
	here       int
	generation int
}

// wait returns true to one of those that waited.
func (b *barrier) wait() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.here++
	if b.here == workers {
		b.here = 0
		b.generation++
		b.all.Broadcast()
		return true
	}
	for g := b.generation; g == b.generation; {
		b.all.Wait()
	}
	return false
}

func main() {
	b := &barrier{}
	b.all = sync.NewCond(&b.mu)
	var done [phases]atomic.Int64
	var early atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for phase := range phases {
				done[phase].Add(1)
				last := b.wait()
				if done[phase].Load() != workers {
					early.Add(1)
				}
				if last {
					fmt.Println("phase", phase, "ended by", done[phase].Load())
				}
				b.wait()
			}
		})
	}
	group.Wait()
	fmt.Println("too early:", early.Load(), "- generations:", b.generation)
}
