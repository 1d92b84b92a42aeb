// The sleeping barber: two chairs to wait in; who finds them taken goes away.
package main

import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func main() {
	chairs, closed := make(chan int, 2), make(chan []int)
	go func() {
		var shaved []int
		for customer := range chairs {
			time.Sleep(80 * ms)
			shaved = append(shaved, customer)
		}
		closed <- shaved
	}()
	var away []int
	for customer := 1; customer <= 8; customer++ {
		select {
		case chairs <- customer:
		default:
			away = append(away, customer)
		}
		time.Sleep(30 * ms)
	}
	close(chairs)
	fmt.Println("shaved:", <-closed)
	fmt.Println("went away:", away)
}
