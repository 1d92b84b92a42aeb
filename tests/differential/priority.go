// What is urgent goes first: a select with default before the select that waits.
package main

import "fmt"

func serve(urgent, normal <-chan string, out chan<- string) {
	defer close(out)
	for urgent != nil || normal != nil {
		select {
		case job, ok := <-urgent:
			if ok {
				out <- job
				continue
			}
			urgent = nil
		default:
		}
		select {
		case job, ok := <-urgent:
			if ok {
				out <- job
			} else {
				urgent = nil
			}
		case job, ok := <-normal:
			if ok {
				out <- job
			} else {
				normal = nil
			}
		}
	}
}

func main() {
	urgent, normal, out := make(chan string, 10), make(chan string, 10), make(chan string)
	for i := range 4 {
		normal <- fmt.Sprint("normal ", i)
		urgent <- fmt.Sprint("urgent ", i)
	}
	go serve(urgent, normal, out)
	for range 4 {
		fmt.Println(<-out)
	}
	close(urgent)
	for i := 4; i < 6; i++ {
		normal <- fmt.Sprint("normal ", i)
	}
	close(normal)
	for job := range out {
		fmt.Println(job)
	}
}
