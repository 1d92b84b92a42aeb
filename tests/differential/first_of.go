// One channel that closes when the first of many does, by a tree of selects that leaves nobody behind.
package main

import "fmt"

type signal <-chan struct{}

// firstOf gives up when stop closes.
func firstOf(stop signal, channels []signal) signal {
	if len(channels) == 1 {
		return channels[0]
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		middle := len(channels) / 2
		select {
		case <-firstOf(done, channels[:middle]):
		case <-firstOf(done, channels[middle:]):
		case <-stop:
		}
	}()
	return done
}

func main() {
	for _, chosen := range []int{0, 13, 31} {
		var signals []signal
		var closers []chan struct{}
		for range 32 {
			c := make(chan struct{})
			signals, closers = append(signals, c), append(closers, c)
		}
		first := firstOf(nil, signals)
		select {
		case <-first:
			fmt.Println("too early")
		default:
		}
		close(closers[chosen])
		<-first
		fmt.Println("number", chosen, "was enough")
	}
}
