// A broker that knows topics and subscribers; who reads slowly gets everything all the same.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

type subscription struct {
	topic string
	to    chan<- string
}

type message struct{ topic, text string }

type broker struct {
	subscribe chan subscription
	publish   chan message
	stop      chan struct{}
}

func (b *broker) run() {
	topics := map[string][]chan<- string{}
	for {
		select {
		case s := <-b.subscribe:
			topics[s.topic] = append(topics[s.topic], s.to)
		case m := <-b.publish:
			for _, to := range topics[m.topic] {
				to <- m.text
			}
		case <-b.stop:
			for _, all := range topics {
				for _, to := range all {
					close(to)
				}
			}
			return
		}
	}
}

func main() {
	b := &broker{make(chan subscription), make(chan message), make(chan struct{})}
	go b.run()

	var readers sync.WaitGroup
	var mu sync.Mutex
	var lines []string
	for _, who := range []struct{ name, topic string }{{"ada", "news"}, {"bob", "news"}, {"cleo", "sport"}, {"dan", "none"}} {
		inbox := make(chan string)
		b.subscribe <- subscription{who.topic, inbox}
		readers.Go(func() {
			var got []string
			for text := range inbox {
				got = append(got, text)
			}
			mu.Lock()
			lines = append(lines, fmt.Sprintf("%s got %d (%s)", who.name, len(got), strings.Join(got, ", ")))
			mu.Unlock()
		})
	}
	for i := range 6 {
		b.publish <- message{"news", fmt.Sprint("headline ", i)}
		if i%3 == 0 {
			b.publish <- message{"sport", fmt.Sprint("goal ", i)}
		}
		b.publish <- message{"weather", "nobody listens"}
	}
	b.stop <- struct{}{}
	readers.Wait()
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}
