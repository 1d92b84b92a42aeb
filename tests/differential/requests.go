// A goroutine owns a table; others send it requests, each with a channel for the answer.
package main

import (
	"fmt"
	"sync"
)

type request struct {
	key   string
	add   int
	reply chan<- int
}

func owner(requests <-chan request) {
	table := map[string]int{}
	for r := range requests {
		table[r.key] += r.add
		r.reply <- table[r.key]
	}
}

func main() {
	requests := make(chan request)
	go owner(requests)
	ask := func(key string, add int) int {
		reply := make(chan int)
		requests <- request{key, add, reply}
		return <-reply
	}
	var clients sync.WaitGroup
	rising := make(chan bool, 10)
	for client := range 10 {
		clients.Go(func() {
			last, ok := 0, true
			for range 20 {
				now := ask([]string{"even", "odd"}[client%2], client)
				ok = ok && now >= last+client
				last = now
			}
			rising <- ok
		})
	}
	clients.Wait()
	for range 10 {
		if !<-rising {
			fmt.Println("an answer went backwards")
		}
	}
	fmt.Println("even", ask("even", 0), "odd", ask("odd", 0), "other", ask("other", 0))
	close(requests)
}
