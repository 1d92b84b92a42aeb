// Three producers, one consumer: a channel that is closed becomes a case that is off.
package main

import "fmt"

func count(n, step int) <-chan int {
	out := make(chan int)
	go func() {
		for i := range n {
			out <- i * step
		}
		close(out)
	}()
	return out
}

type tally struct {
	seen, last int
	ordered    bool
}

func (t *tally) take(v int) {
	t.ordered = t.ordered && v > t.last
	t.seen, t.last = t.seen+1, v
}

func main() {
	a, b, c := count(30, 1), count(20, 10), count(10, 100)
	ta, tb, tc := tally{0, -1, true}, tally{0, -1, true}, tally{0, -1, true}
	for a != nil || b != nil || c != nil {
		select {
		case v, ok := <-a:
			if ok {
				ta.take(v)
			} else {
				a = nil
			}
		case v, ok := <-b:
			if ok {
				tb.take(v)
			} else {
				b = nil
			}
		case v, ok := <-c:
			if ok {
				tc.take(v)
			} else {
				c = nil
			}
		}
	}
	for _, t := range []tally{ta, tb, tc} {
		fmt.Println(t.seen, t.last, t.ordered)
	}
}
