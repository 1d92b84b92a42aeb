package main

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Loops that say how fast the machine runs plain code, so that figures can be read as multiples of it.

func init() {
	reg("calib_alu", "calib", calibALU)
	reg("calib_mem", "calib", calibMem)
	reg("calib_atomic_add", "calib", calibAtomicAdd)
	reg("calib_atomic_cas", "calib", calibAtomicCAS)
	reg("calib_syscall", "calib", calibSyscall)
	reg("calib_nanotime", "calib", calibNanotime)
	reg("calib_thread_pingpong", "calib", calibThreadPingPong)
}

// sink keeps the compiler from dropping a loop.
var sink uint64

// spin: n steps, each a multiplication and an addition that need the one before.
//
//go:noinline
func spin(n int) uint64 {
	x := uint64(n) | 1
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func calibALU() {
	n := scaled(20_000_000)
	measure("calib_alu", 1, params{"what": "x=x*A+C"}, func() (time.Duration, int) {
		t := time.Now()
		sink += spin(n)
		return time.Since(t), n
	})
}

// Each load needs the one before; 32 KiB.
func calibMem() {
	const k = 4096
	next := make([]uint64, k)
	for i := range next {
		next[i] = uint64((i*1021 + 7) % k)
	}
	n := scaled(10_000_000)
	measure("calib_mem", 1, params{"what": "dependent load, 32 KiB"}, func() (time.Duration, int) {
		t := time.Now()
		var j uint64
		for range n {
			j = next[j&(k-1)]
		}
		sink += j
		return time.Since(t), n
	})
}

func calibAtomicAdd() {
	var v atomic.Uint64
	n := scaled(5_000_000)
	measure("calib_atomic_add", 1, params{"what": "uncontended add"}, func() (time.Duration, int) {
		t := time.Now()
		for range n {
			v.Add(1)
		}
		return time.Since(t), n
	})
}

func calibAtomicCAS() {
	var v atomic.Uint64
	n := scaled(5_000_000)
	measure("calib_atomic_cas", 1, params{"what": "uncontended compare and swap"}, func() (time.Duration, int) {
		t := time.Now()
		x := v.Load()
		for range n {
			v.CompareAndSwap(x, x+1)
			x++
		}
		return time.Since(t), n
	})
}

func calibSyscall() {
	n := scaled(200_000)
	measure("calib_syscall", 1, params{"what": "getppid"}, func() (time.Duration, int) {
		t := time.Now()
		for range n {
			syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		}
		return time.Since(t), n
	})
}

func calibNanotime() {
	n := scaled(500_000)
	measure("calib_nanotime", 1, params{"what": "time.Now()"}, func() (time.Duration, int) {
		t := time.Now()
		for range n {
			_ = time.Now()
		}
		return time.Since(t), n
	})
}

// Both goroutines have a thread of their own, so each hop wakes another thread of the kernel.
func calibThreadPingPong() {
	n := scaled(20_000)
	what := params{"what": "round trip of two locked threads"}
	measure("calib_thread_pingpong", min(2, runtime.NumCPU()), what, func() (time.Duration, int) {
		a, b := make(chan struct{}), make(chan struct{})
		took := make(chan time.Duration)
		go func() {
			runtime.LockOSThread()
			for range n {
				<-a
				b <- struct{}{}
			}
		}()
		go func() {
			runtime.LockOSThread()
			t := time.Now()
			for range n {
				a <- struct{}{}
				<-b
			}
			took <- time.Since(t)
		}()
		return <-took, n
	})
}
