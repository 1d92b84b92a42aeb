// Three servers of different speed, with a time limit for each answer and one for all of them.
package main

import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func ask(delay time.Duration) <-chan string {
	answer := make(chan string, 1) // whoever is late does not wait for ever
	go func() {
		time.Sleep(delay)
		answer <- fmt.Sprint("answer after ", delay)
	}()
	return answer
}

func main() {
	for _, delay := range []time.Duration{20 * ms, 60 * ms, 140 * ms} {
		select {
		case text := <-ask(delay):
			fmt.Println(text)
		case <-time.After(100 * ms):
			fmt.Println("no answer within", 100*ms)
		}
	}

	limit := time.After(110 * ms)
	fast, slow := ask(40*ms), ask(180*ms)
	ticker := time.NewTicker(30 * ms)
	defer ticker.Stop()
	for ticks := 0; ; {
		select {
		case text := <-fast:
			fmt.Println("fast:", text)
			fast = nil
		case text := <-slow:
			fmt.Println("slow:", text)
			slow = nil
		case <-ticker.C:
			ticks++
		case <-limit:
			fmt.Println("out of time after", ticks, "ticks")
			time.Sleep(100 * ms)
			fmt.Println("too late:", <-slow)
			return
		}
	}
}
