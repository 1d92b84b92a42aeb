package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func init() {
	reg("preempt_sleep1ms", "lat", benchPreempt)
	reg("sleepers", "lat", benchSleepers)
}

// Goroutines that never yield, none, as many as Ps, four times as many, beside one that sleeps 1 ms again and again: how late
// it wakes.
func benchPreempt() {
	iters := scaled(200)
	for _, p := range procList() {
		for _, spinners := range []int{0, p, 4 * p} {
			old := runtime.GOMAXPROCS(p)
			samples := besideSpinners(spinners, iters)
			runtime.GOMAXPROCS(old)
			emitDist("preempt_sleep1ms", p, samples, params{"spinners": spinners, "sleep_us": 1000, "iters": iters}, nil)
		}
	}
}

func besideSpinners(spinners, iters int) []int64 {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range spinners {
		wg.Add(1)
		go func() {
			x := uint64(1)
			for !stop.Load() { // an inlined load: no call, no yield point
				x = x*6364136223846793005 + 1
			}
			atomic.AddUint64(&sink, x)
			wg.Done()
		}()
	}
	samples := make([]int64, 0, iters)
	done := make(chan struct{})
	go func() {
		time.Sleep(5 * time.Millisecond)
		for range iters {
			t := time.Now()
			time.Sleep(time.Millisecond)
			samples = append(samples, int64(time.Since(t)-time.Millisecond))
		}
		close(done)
	}()
	<-done
	stop.Store(true)
	wg.Wait()
	return samples
}

// 10,000 goroutines, each of which sleeps five times for 10 to 110 ms: how late they wake.
func benchSleepers() {
	n := scaled(10_000)
	const rounds = 5
	for _, p := range procList() {
		old := runtime.GOMAXPROCS(p)
		samples := make([]int64, n*rounds)
		var wg sync.WaitGroup
		wg.Add(n)
		t0 := time.Now()
		for g := range n {
			go func() {
				x := uint64(g)*2654435761 + 12345
				for r := range rounds {
					x = x*6364136223846793005 + 1442695040888963407
					d := 10*time.Millisecond + time.Duration((x>>33)%100_000)*time.Microsecond
					t := time.Now()
					time.Sleep(d)
					samples[g*rounds+r] = int64(time.Since(t) - d)
				}
				wg.Done()
			}()
		}
		wg.Wait()
		wall := time.Since(t0)
		runtime.GOMAXPROCS(old)
		emitDist("sleepers", p, samples, params{"sleepers": n, "rounds": rounds, "sleep_ms": "10..110"},
			map[string]any{"wall_ms": wall.Milliseconds()})
	}
}
