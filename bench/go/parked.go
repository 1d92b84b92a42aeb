package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

func init() { reg("parked", "mem", benchParked) }

// So many goroutines that block on a receive of one channel: what one costs, in time and memory. A million where they fit.
func benchParked() {
	sizes := []int{scaled(100_000)}
	if *flagScale >= 1 && memAvailableKB() > 4_600_000 {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		for rep := range *flagReps {
			park(n, rep)
		}
		debug.FreeOSMemory()
	}
}

func park(n, rep int) {
	debug.FreeOSMemory()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	rss0 := rssKB()
	stop := make(chan struct{})
	var started, wg sync.WaitGroup
	started.Add(n)
	wg.Add(n)
	t := time.Now()
	for range n {
		go func() {
			started.Done()
			<-stop
			wg.Done()
		}()
	}
	started.Wait()
	create := time.Since(t)
	rss1 := rssKB()
	runtime.ReadMemStats(&m1)
	t = time.Now()
	close(stop)
	wg.Wait()
	exit := time.Since(t)
	each := func(x float64) float64 { return round(x / float64(n)) }
	ns := each(float64(create.Nanoseconds()))
	emit(result{Bench: "parked", Procs: runtime.GOMAXPROCS(0), Unit: "ns/op", Ops: n, Reps: 1, Min: ns, Med: ns, Max: ns,
		Params: params{"tasks": n, "rep": rep},
		Extra: map[string]any{
			"wake_exit_ns_per_task": each(float64(exit.Nanoseconds())),
			"rss_bytes_per_task":    each(float64(rss1-rss0) * 1024),
			"stack_bytes_per_task":  each(float64(m1.StackInuse - m0.StackInuse))}})
}

// rssKB is the memory that this process has in use.
func rssKB() int64 {
	f := strings.Fields(readTrim("/proc/self/statm"))
	if len(f) < 2 {
		return 0
	}
	v, _ := strconv.ParseInt(f[1], 10, 64)
	return v * int64(os.Getpagesize()) / 1024
}

func memAvailableKB() int64 {
	for _, l := range strings.Split(readTrim("/proc/meminfo"), "\n") {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "MemAvailable:" {
			v, _ := strconv.ParseInt(f[1], 10, 64)
			return v
		}
	}
	return 0
}
