// A worker shows with a ticker that it lives; when it falls silent, a timer tells its watcher.
package main

import (
	"fmt"
	"time"
)

const beat = 20 * time.Millisecond

func worker(beats chan<- int, results chan<- string) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	work := time.NewTimer(beat * 5 / 2)
	for n := 1; n <= 4; {
		select {
		case <-ticker.C:
			beats <- n
			n++
		case <-work.C:
			results <- "a result"
		}
	}
	// It falls silent here, without a word.
}

func main() {
	beats, results := make(chan int), make(chan string)
	go worker(beats, results)
	silence := time.NewTimer(3 * beat)
	for {
		select {
		case n := <-beats:
			fmt.Println("beat", n, "- timer was running:", silence.Reset(3*beat))
		case r := <-results:
			fmt.Println("got", r)
		case <-silence.C:
			fmt.Println("silent for three beats: given up")
			fmt.Println("timer is running:", silence.Stop())
			return
		}
	}
}
