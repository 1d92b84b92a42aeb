// What stop and reset of timers answer, and what comes on their channels.
package main

import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func ready(t *time.Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

func main() {
	t := time.NewTimer(20 * ms)
	fmt.Println("ready at once:", ready(t), "- length and room:", len(t.C), cap(t.C))
	fmt.Println("stop:", t.Stop(), t.Stop())
	time.Sleep(40 * ms)
	fmt.Println("fired after stop:", ready(t))

	fmt.Println("reset of a stopped one:", t.Reset(20*ms))
	fmt.Println("reset of a running one:", t.Reset(20*ms))
	<-t.C
	fmt.Println("reset of one that was received:", t.Reset(20*ms))
	time.Sleep(40 * ms)
	fmt.Println("stop of one that fired unseen:", t.Stop(), "- ready:", ready(t))

	order := make(chan int, 3)
	begin := time.Now()
	for _, n := range []int{3, 1, 2} {
		time.AfterFunc(time.Duration(n)*20*ms, func() { order <- n })
	}
	fmt.Println("order:", <-order, <-order, <-order)
	fmt.Println("took 60 ms:", time.Since(begin).Truncate(20*ms) == 60*ms)

	f := time.AfterFunc(20*ms, func() { order <- 9 })
	fmt.Println("function stopped:", f.Stop(), f.Reset(20*ms))
	fmt.Println("runs all the same:", <-order, "- stop:", f.Stop())

	ticker := time.NewTicker(20 * ms)
	time.Sleep(70 * ms) // three ticks, one is kept
	<-ticker.C
	select {
	case <-ticker.C:
		fmt.Println("a second tick at once")
	default:
		fmt.Println("missed ticks are lost")
	}
	ticker.Stop()
	select {
	case <-ticker.C:
		fmt.Println("it still ticks")
	case <-time.After(50 * ms):
		fmt.Println("silent")
	}
	ticker.Reset(20 * ms)
	<-ticker.C
	fmt.Println("and again")
}
