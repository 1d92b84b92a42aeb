package main

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func init() {
	reg("chan_pingpong", "core", benchPingPong)
	reg("chan_pingpong_many", "core", benchPingPongMany)
	reg("chan_buf128_1to1", "core", func() { benchChanBuf(1) })
	reg("chan_buf128_4to4", "core", func() { benchChanBuf(4) })
	reg("ring503", "core", benchRing)
}

// Two unbuffered channels; one operation is one round trip, two sends and two receives.
func benchPingPong() {
	n := scaled(200_000)
	for _, p := range procList() {
		measure("chan_pingpong", p, params{"round_trips": n, "pairs": 1}, func() (time.Duration, int) {
			a, b := make(chan int), make(chan int)
			go func() {
				for range n {
					b <- <-a
				}
			}()
			t := time.Now()
			for i := range n {
				a <- i
				<-b
			}
			return time.Since(t), n
		})
	}
}

// 64 such pairs at once.
func benchPingPongMany() {
	const pairs = 64
	n := scaled(5_000)
	for _, p := range procList() {
		measure("chan_pingpong_many", p, params{"round_trips_each": n, "pairs": pairs}, func() (time.Duration, int) {
			var wg sync.WaitGroup
			wg.Add(2 * pairs)
			t := time.Now()
			for range pairs {
				a, b := make(chan int), make(chan int)
				go func() {
					for range n {
						b <- <-a
					}
					wg.Done()
				}()
				go func() {
					for i := range n {
						a <- i
						<-b
					}
					wg.Done()
				}()
			}
			wg.Wait()
			return time.Since(t), pairs * n
		})
	}
}

// One channel of capacity 128, so many producers and as many consumers; one operation is one item.
func benchChanBuf(tasks int) {
	n := scaled(400_000)
	per := n / tasks
	name := "chan_buf128_" + strconv.Itoa(tasks) + "to" + strconv.Itoa(tasks)
	for _, p := range procList() {
		measure(name, p, params{"cap": 128, "items": n, "producers": tasks, "consumers": tasks}, func() (time.Duration, int) {
			ch := make(chan int, 128)
			var producers, consumers sync.WaitGroup
			producers.Add(tasks)
			consumers.Add(tasks)
			t := time.Now()
			for range tasks {
				go func() {
					for i := range per {
						ch <- i
					}
					producers.Done()
				}()
			}
			for range tasks {
				go func() {
					s := 0
					for v := range ch {
						s += v
					}
					atomic.AddUint64(&sink, uint64(s))
					consumers.Done()
				}()
			}
			producers.Wait()
			close(ch)
			consumers.Wait()
			return time.Since(t), per * tasks
		})
	}
}

// 503 goroutines in a ring of unbuffered channels, one token; one operation is one hop.
func benchRing() {
	const k = 503
	n := scaled(500_000)
	for _, p := range procList() {
		measure("ring503", p, params{"tasks": k, "hops": n}, func() (time.Duration, int) {
			var c [k]chan int
			for i := range c {
				c[i] = make(chan int)
			}
			res := make(chan int, 1)
			var wg sync.WaitGroup
			wg.Add(k)
			for i := range k {
				in, out := c[i], c[(i+1)%k]
				go func() {
					defer wg.Done()
					for tok := range in {
						if tok == 0 {
							res <- i
							continue
						}
						out <- tok - 1
					}
				}()
			}
			t := time.Now()
			c[0] <- n
			<-res
			d := time.Since(t)
			for i := range c {
				close(c[i])
			}
			wg.Wait()
			return d, n
		})
	}
}
