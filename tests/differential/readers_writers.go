// Readers see both halves of a pair or neither, and several of them read at a time.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

type pair struct {
	sync.RWMutex
	a, b int
}

func main() {
	var p pair
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 100 {
				p.Lock()
				p.a++
				runtime.Gosched()
				p.b++
				p.Unlock()
			}
		})
	}
	torn := make(chan int, 6)
	for range 6 {
		all.Go(func() {
			bad, last := 0, 0
			for range 100 {
				p.RLock()
				if p.a != p.b || p.a < last {
					bad++
				}
				last = p.a
				p.RUnlock()
				runtime.Gosched()
			}
			torn <- bad
		})
	}
	all.Wait()
	bad := 0
	for range 6 {
		bad += <-torn
	}
	fmt.Println("written", p.a, p.b, "- torn reads", bad)

	// All four are inside at once, or this never ends.
	inside, leave := make(chan struct{}), make(chan struct{})
	for range 4 {
		all.Go(func() {
			p.RLock()
			defer p.RUnlock()
			inside <- struct{}{}
			<-leave
		})
	}
	for range 4 {
		<-inside
	}
	fmt.Println("while four read: write", p.TryLock(), "read", p.TryRLock())
	p.RUnlock()
	close(leave)
	all.Wait()
	fmt.Println("when all have left: write", p.TryLock(), "read", p.TryRLock())
}
