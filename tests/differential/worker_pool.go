// A pool of three workers, jobs in a buffered channel, results in the order of their jobs.
package main

import (
	"fmt"
	"strings"
	"sync"
)

type job struct {
	id   int
	text string
}

type answer struct{ id, words, letters int }

func work(jobs <-chan job, answers chan<- answer) {
	for j := range jobs {
		words := strings.Fields(j.text)
		letters := 0
		for _, word := range words {
			letters += len(word)
		}
		answers <- answer{j.id, len(words), letters}
	}
}

func main() {
	texts := []string{
		"share memory by communicating",
		"concurrency is not parallelism",
		"channels orchestrate",
		"mutexes serialize",
		"make the zero value useful",
		"a little copying is better than a little dependency",
	}
	jobs, answers := make(chan job, len(texts)), make(chan answer, len(texts))
	var pool sync.WaitGroup
	for range 3 {
		pool.Go(func() { work(jobs, answers) })
	}
	for id, text := range texts {
		jobs <- job{id, text}
	}
	close(jobs)
	pool.Wait()
	close(answers)

	sorted := make([]answer, len(texts))
	for a := range answers {
		sorted[a.id] = a
	}
	for _, a := range sorted {
		fmt.Printf("job %d: %d words, %d letters\n", a.id, a.words, a.letters)
	}
	fmt.Println("left:", len(jobs), "of", cap(jobs))
}
