// Dining philosophers: all take the left fork first, but one, so that they cannot wait in a circle.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

const seats, courses = 5, 200

type fork struct {
	sync.Mutex
	used int
}

func dine(seat int, first, second *fork) int {
	meals := 0
	for range courses {
		first.Lock()
		runtime.Gosched() // the best moment for a deadlock
		second.Lock()
		first.used++
		second.used++
		meals++
		second.Unlock()
		first.Unlock()
	}
	return meals
}

func main() {
	var forks [seats]fork
	var meals [seats]int
	var table sync.WaitGroup
	for seat := range seats {
		left, right := &forks[seat], &forks[(seat+1)%seats]
		if seat == seats-1 {
			left, right = right, left
		}
		table.Go(func() { meals[seat] = dine(seat, left, right) })
	}
	table.Wait()
	for seat := range seats {
		fmt.Println("philosopher", seat, "ate", meals[seat], "times; fork", seat, "was used", forks[seat].used, "times")
	}
}
