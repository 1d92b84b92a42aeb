package main

import (
	"sync"
	"time"
)

func init() {
	reg("fib_serial", "par", benchSerial)
	reg("forkjoin_fib27c2", "par", func() { benchForkJoin("fib27c2", 27, 2) })
	reg("forkjoin_fib27c10", "par", func() { benchForkJoin("fib27c10", 27, 10) })
	reg("forkjoin_fib35c18", "par", func() { benchForkJoin("fib35c18", 35, 18) })
}

func fibSerial(n int) int {
	if n < 2 {
		return n
	}
	return fibSerial(n-1) + fibSerial(n-2)
}

// fibPar spawns a goroutine for n-1, takes n-2 itself, waits and adds.
func fibPar(n, cutoff int) int {
	if n <= cutoff {
		return fibSerial(n)
	}
	var wg sync.WaitGroup
	var x int
	wg.Add(1)
	go func() {
		x = fibPar(n-1, cutoff)
		wg.Done()
	}()
	y := fibPar(n-2, cutoff)
	wg.Wait()
	return x + y
}

func fibSpawns(n, cutoff int) int {
	if n <= cutoff {
		return 0
	}
	return 1 + fibSpawns(n-1, cutoff) + fibSpawns(n-2, cutoff)
}

// depth makes the tree 7 times smaller where counts are scaled down.
func depth(n int) int {
	if *flagScale < 1 {
		return n - 4
	}
	return n
}

// The same trees without goroutines.
func benchSerial() {
	for _, n := range []int{depth(27), depth(35)} {
		measure("fib_serial", 1, params{"n": n}, func() (time.Duration, int) {
			t := time.Now()
			sink += uint64(fibSerial(n))
			return time.Since(t), 1
		})
	}
}

// One operation is the whole tree.
func benchForkJoin(name string, n, cutoff int) {
	n = depth(n)
	want := fibSerial(n)
	p := params{"n": n, "cutoff": cutoff, "spawns": fibSpawns(n, cutoff), "op": "whole tree"}
	for _, procs := range procList() {
		measure("forkjoin_"+name, procs, p, func() (time.Duration, int) {
			t := time.Now()
			got := fibPar(n, cutoff)
			d := time.Since(t)
			check(name, got == want)
			return d, 1
		})
	}
}
