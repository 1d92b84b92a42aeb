package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func init() {
	reg("skew_fine", "par", func() { benchSkew("skew_fine", 20_000, 1_000) })
	reg("skew_mid", "par", func() { benchSkew("skew_mid", 2_000, 20_000) })
	reg("skew_coarse", "par", func() { benchSkew("skew_coarse", 64, 1_000_000) })
}

// serialSkew is the best of five runs without goroutines: the machine's own speed.
func serialSkew(tasks, steps int) (best time.Duration) {
	for rep := range 5 {
		t := time.Now()
		for range tasks {
			sink += spin(steps)
		}
		if d := time.Since(t); rep == 0 || d < best {
			best = d
		}
	}
	return best
}

// One goroutine spawns all, each spins. extra.efficiency is the ideal time, serial / P, over the measured one.
func benchSkew(name string, tasks, steps int) {
	tasks = scaled(tasks)
	serial := serialSkew(tasks, steps)
	for _, p := range procList() {
		old := runtime.GOMAXPROCS(p)
		var xs []float64
		for rep := range *flagReps + 1 {
			var wg sync.WaitGroup
			wg.Add(tasks)
			t := time.Now()
			for range tasks {
				go func() {
					atomic.AddUint64(&sink, spin(steps))
					wg.Done()
				}()
			}
			wg.Wait()
			if rep > 0 {
				xs = append(xs, float64(time.Since(t).Nanoseconds()))
			}
		}
		runtime.GOMAXPROCS(old)
		mn, md, mx := minMedMax(xs)
		ideal := float64(serial.Nanoseconds()) / float64(p)
		emit(result{Bench: name, Procs: p, Unit: "ns", Ops: tasks, Reps: *flagReps, Min: mn, Med: md, Max: mx,
			Params: params{"tasks": tasks, "spin": steps},
			Extra: map[string]any{"ideal_ns": round(ideal), "efficiency": round(ideal / md),
				"serial_ns_per_task": round(float64(serial.Nanoseconds()) / float64(tasks))}})
	}
}
