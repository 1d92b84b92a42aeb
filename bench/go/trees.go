package main

import (
	"sync"
	"sync/atomic"
	"time"
)

func init() {
	reg("skynet", "app", benchSkynet)
	reg("sieve_select", "app", func() { benchSieve("sieve_select", sieveSelect) })
	reg("sieve", "app", func() { benchSieve("sieve", sieveClassic) })
}

// skynet: ten children a node, each sends its sum on its parent's unbuffered channel.
func skynet(c chan int, num, size int) {
	if size == 1 {
		c <- num
		return
	}
	rc := make(chan int)
	sub := size / 10
	for i := range 10 {
		go skynet(rc, num+i*sub, sub)
	}
	sum := 0
	for range 10 {
		sum += <-rc
	}
	c <- sum
}

func benchSkynet() {
	size := 1_000_000
	if *flagScale < 1 {
		size = 10_000
	}
	for _, p := range procList() {
		measure("skynet", p, params{"leaves": size, "op": "whole tree"}, func() (time.Duration, int) {
			c := make(chan int)
			t := time.Now()
			go skynet(c, 0, size)
			r := <-c
			d := time.Since(t)
			check("skynet", r == size*(size-1)/2)
			return d, 1
		})
	}
}

// The chain of filters until the 2,000th prime arrives.
func benchSieve(name string, run func(primes int) (time.Duration, int)) {
	primes := scaled(2000)
	for _, p := range procList() {
		measure(name, p, params{"primes": primes, "op": "whole run"}, func() (time.Duration, int) {
			d, last := run(primes)
			check(name, primes != 2000 || last == 17389)
			return d, 1
		})
	}
}

// sieveSelect has a second case, for the end, at each send and receive.
func sieveSelect(primes int) (time.Duration, int) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	t := time.Now()
	ch := make(chan int)
	wg.Go(func() { numbersSelect(ch, quit) })
	last := 0
	for range primes {
		prime := <-ch
		last = prime
		in, out := ch, make(chan int)
		wg.Go(func() { filterSelect(in, out, quit, prime) })
		ch = out
	}
	d := time.Since(t)
	close(quit)
	wg.Wait()
	return d, last
}

func numbersSelect(out chan int, quit chan struct{}) {
	for i := 2; ; i++ {
		select {
		case out <- i:
		case <-quit:
			return
		}
	}
}

func filterSelect(in, out chan int, quit chan struct{}, prime int) {
	for {
		select {
		case v := <-in:
			if v%prime != 0 {
				select {
				case out <- v:
				case <-quit:
					return
				}
			}
		case <-quit:
			return
		}
	}
}

// sieveClassic has none; closed channels end the chain, after the time is taken.
func sieveClassic(primes int) (time.Duration, int) {
	var stop atomic.Bool
	t := time.Now()
	ch := make(chan int)
	go func(out chan int) {
		for i := 2; !stop.Load(); i++ {
			out <- i
		}
		close(out)
	}(ch)
	last := 0
	for range primes {
		prime := <-ch
		last = prime
		next := make(chan int)
		go func(in, out chan int) {
			for v := range in {
				if v%prime != 0 {
					out <- v
				}
			}
			close(out)
		}(ch, next)
		ch = next
	}
	d := time.Since(t)
	stop.Store(true)
	for range ch {
	}
	return d, last
}
