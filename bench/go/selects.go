package main

import "time"

func init() {
	reg("select4_recv", "core", benchSelectRecv)
	reg("select4_ready", "core", benchSelectReady)
	reg("select4_default", "core", benchSelectDefault)
}

// Four senders, each on an unbuffered channel; one operation is one receive.
func benchSelectRecv() {
	n := scaled(200_000)
	per := n / 4
	for _, p := range procList() {
		measure("select4_recv", p, params{"chans": 4, "cap": 0, "items": n, "senders": 4}, func() (time.Duration, int) {
			var c [4]chan int
			for i := range c {
				c[i] = make(chan int)
			}
			for _, ch := range c {
				go func() {
					for i := range per {
						ch <- i
					}
				}()
			}
			s := 0
			t := time.Now()
			for range per * 4 {
				select {
				case v := <-c[0]:
					s += v
				case v := <-c[1]:
					s += v
				case v := <-c[2]:
					s += v
				case v := <-c[3]:
					s += v
				}
			}
			d := time.Since(t)
			sink += uint64(s)
			return d, per * 4
		})
	}
}

// No other goroutine: four channels that hold a value each, and the one that was taken goes back.
func benchSelectReady() {
	n := scaled(500_000)
	measure("select4_ready", 1, params{"chans": 4, "cap": 1, "iters": n}, func() (time.Duration, int) {
		var c [4]chan int
		for i := range c {
			c[i] = make(chan int, 1)
			c[i] <- i
		}
		t := time.Now()
		for range n {
			select {
			case v := <-c[0]:
				c[0] <- v
			case v := <-c[1]:
				c[1] <- v
			case v := <-c[2]:
				c[2] <- v
			case v := <-c[3]:
				c[3] <- v
			}
		}
		return time.Since(t), n
	})
}

// Four empty channels and a default.
func benchSelectDefault() {
	n := scaled(500_000)
	measure("select4_default", 1, params{"chans": 4, "iters": n}, func() (time.Duration, int) {
		var c [4]chan int
		for i := range c {
			c[i] = make(chan int)
		}
		k := 0
		t := time.Now()
		for range n {
			select {
			case <-c[0]:
			case <-c[1]:
			case <-c[2]:
			case <-c[3]:
			default:
				k++
			}
		}
		sink += uint64(k)
		return time.Since(t), n
	})
}
