// Cigarette smokers: an agent lays out two of three things, who has the third one smokes.
package main

import "fmt"

type semaphore chan struct{}

func (s semaphore) acquire() { <-s }
func (s semaphore) release() { s <- struct{}{} }

func main() {
	names := [3]string{"tobacco", "paper", "matches"}
	table := make(semaphore, 1)
	var turn [3]semaphore
	over := make(chan int)
	var smoked [3]int
	var order []string
	stop := false
	for i := range turn {
		turn[i] = make(semaphore, 1)
		go func() {
			for {
				turn[i].acquire()
				if stop {
					over <- i
					return
				}
				smoked[i]++
				order = append(order, names[i][:1])
				table.release()
			}
		}()
	}
	seed := uint32(7)
	for range 30 {
		seed = seed*1664525 + 1013904223
		turn[seed>>16%3].release()
		table.acquire()
	}
	stop = true
	for i := range turn {
		turn[i].release()
	}
	<-over
	<-over
	<-over
	for i, name := range names {
		fmt.Println("who has", name, "smoked", smoked[i], "times")
	}
	for _, letter := range order {
		fmt.Print(letter)
	}
	fmt.Println()
}
