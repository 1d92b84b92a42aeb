// Counting words: mappers split lines, each word goes to the reducer that its letters choose.
package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const reducers = 3

var lines = []string{
	"one fish two fish red fish blue fish",
	"a big blue dog chased a red fox",
	"the fox and the dog and the fish",
	"two red dogs and one blue fox",
}

func bucket(word string) int {
	sum := 0
	for _, letter := range []byte(word) {
		sum += int(letter)
	}
	return sum % reducers
}

func reduce(words <-chan string, counts chan<- map[string]int) {
	count := map[string]int{}
	for word := range words {
		count[word]++
	}
	counts <- count
}

func main() {
	var words [reducers]chan string
	counts := make(chan map[string]int)
	for i := range words {
		words[i] = make(chan string, 4)
		go reduce(words[i], counts)
	}
	var mappers sync.WaitGroup
	for _, line := range lines {
		mappers.Go(func() {
			for _, word := range strings.Fields(line) {
				words[bucket(word)] <- word
			}
		})
	}
	mappers.Wait()
	for _, to := range words {
		close(to)
	}
	total := map[string]int{}
	for range words {
		maps.Copy(total, <-counts)
	}
	for _, word := range slices.Sorted(maps.Keys(total)) {
		fmt.Println(word, total[word])
	}
}
