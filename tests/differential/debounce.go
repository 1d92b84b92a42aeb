// Bursts of events become one each: a timer that every event sets anew.
package main

import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func debounce(in <-chan int, quiet time.Duration) <-chan [2]int {
	out := make(chan [2]int)
	go func() {
		defer close(out)
		timer := time.NewTimer(quiet)
		timer.Stop()
		last, count := 0, 0
		for {
			select {
			case event, ok := <-in:
				if !ok {
					if timer.Stop() {
						out <- [2]int{last, count}
					}
					return
				}
				last = event
				count++
				timer.Reset(quiet)
			case <-timer.C:
				out <- [2]int{last, count}
				count = 0
			}
		}
	}()
	return out
}

func main() {
	events := make(chan int)
	go func() {
		defer close(events)
		event := 0
		for _, burst := range []int{5, 1, 3, 4} {
			for range burst {
				event++
				events <- event
				time.Sleep(10 * ms)
			}
			if burst != 4 {
				time.Sleep(70 * ms)
			}
		}
	}()
	for burst := range debounce(events, 40*ms) {
		fmt.Println("event", burst[0], "stands for", burst[1])
	}
}
