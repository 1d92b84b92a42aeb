// A traffic light: one ticker with a new period for each colour, and a button.
package main

import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func main() {
	phases := []struct {
		colour string
		length time.Duration
	}{{"green", 80 * ms}, {"yellow", 20 * ms}, {"red", 60 * ms}}

	button := make(chan string)
	go func() {
		time.Sleep(130 * ms)
		button <- "somebody pressed the button"
	}()
	begin := time.Now()
	now := func() time.Duration { return time.Since(begin).Truncate(10 * ms) }
	ticker := time.NewTicker(phases[0].length)
	fmt.Println(phases[0].colour)
	for phase := 0; phase < 6; {
		select {
		case <-ticker.C:
			phase++
			next := phases[phase%3]
			ticker.Reset(next.length)
			fmt.Println(now(), next.colour)
		case text := <-button:
			fmt.Println(now(), text)
		}
	}
	ticker.Stop()
}
