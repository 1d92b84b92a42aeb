// A buffer of four places made of a mutex and two conditions.
package main

import (
	"fmt"
	"sync"
)

const room, producers, each = 4, 3, 100

type buffer struct {
	mu       sync.Mutex
	notEmpty *sync.Cond
	notFull  *sync.Cond
	items    []int
	most     int
}

func newBuffer() *buffer {
	b := &buffer{}
	b.notEmpty, b.notFull = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	return b
}

func (b *buffer) put(v int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == room {
		b.notFull.Wait()
	}
	b.items = append(b.items, v)
	b.most = max(b.most, len(b.items))
	b.notEmpty.Signal()
}

func (b *buffer) get() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == 0 {
		b.notEmpty.Wait()
	}
	v := b.items[0]
	b.items = b.items[1:]
	b.notFull.Signal()
	return v
}

func main() {
	b := newBuffer()
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for i := range each {
				b.put(p*1000 + i)
			}
		})
	}
	sums := make(chan int, 2)
	for range 2 {
		all.Go(func() {
			sum := 0
			for range producers * each / 2 {
				sum += b.get()
			}
			sums <- sum
		})
	}
	all.Wait()
	fmt.Println("sum", <-sums+<-sums)
	fmt.Println("left", len(b.items), "- never more than", room, b.most <= room)
}
