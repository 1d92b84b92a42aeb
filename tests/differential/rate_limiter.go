// A bucket of three tokens that gets a new one with each tick: a burst, and then one at a time.
package main

import (
	"fmt"
	"time"
)

const tick = 20 * time.Millisecond

func main() {
	bucket := make(chan struct{}, 3)
	for range cap(bucket) {
		bucket <- struct{}{}
	}
	done := make(chan struct{})
	ticker := time.NewTicker(tick)
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				select {
				case bucket <- struct{}{}:
				default: // it is full
				}
			case <-done:
				return
			}
		}
	}()

	begin := time.Now()
	for request := range 8 {
		<-bucket
		fmt.Printf("request %d: tick %d\n", request, time.Since(begin)/tick)
	}
	time.Sleep(tick*5 + tick/2)
	fmt.Println("after a rest:", len(bucket), "tokens")
	ticker.Stop()
	done <- struct{}{}
	<-done
}
