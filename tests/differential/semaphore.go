// Ten jobs, at most three of them at a time, and one that does not want to wait.
package main

import (
	"fmt"
	"sync"
	"time"
)

const ms = time.Millisecond

func main() {
	permits := make(chan struct{}, 3)
	tryAcquire := func() bool {
		select {
		case permits <- struct{}{}:
			return true
		default:
			return false
		}
	}
	var mu sync.Mutex
	running, most := 0, 0
	begin := time.Now()
	var jobs sync.WaitGroup
	for range 10 {
		jobs.Go(func() {
			permits <- struct{}{}
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(20 * ms)
			mu.Lock()
			running--
			mu.Unlock()
			<-permits
		})
	}
	time.Sleep(10 * ms)
	fmt.Println("free:", cap(permits)-len(permits), "- one more at once:", tryAcquire())
	jobs.Wait()
	fmt.Println("at most", most, "at a time, in rounds:", int(time.Since(begin)/(20*ms)))
	fmt.Println("free:", cap(permits)-len(permits), "- one more at once:", tryAcquire())
}
