// Conway's problem: cards become lines of another width, pairs of asterisks become carets (after Hoare).
package main

import "fmt"

const width = 20

func disassemble(cards []string, out chan<- byte) {
	for _, card := range cards {
		for _, c := range []byte(card) {
			out <- c
		}
		out <- ' '
	}
	close(out)
}

func squash(in <-chan byte, out chan<- byte) {
	defer close(out)
	for c := range in {
		if c != '*' {
			out <- c
			continue
		}
		switch next, ok := <-in; {
		case !ok:
			out <- c
		case next == '*':
			out <- '^'
		default:
			out <- c
			out <- next
		}
	}
}

func assemble(in <-chan byte, out chan<- string) {
	defer close(out)
	line := make([]byte, 0, width)
	for c := range in {
		line = append(line, c)
		if len(line) == width {
			out <- string(line)
			line = line[:0]
		}
	}
	if len(line) > 0 {
		for len(line) < width {
			line = append(line, '.')
		}
		out <- string(line)
	}
}

func main() {
	cards := []string{
		"x**2 + y**2 = z**2",
		"has answers in whole numbers,",
		"but z***3 * 2 is odd:",
		"who reads it as z**(*3) is lost *",
	}
	bytes, squashed, lines := make(chan byte), make(chan byte), make(chan string)
	go disassemble(cards, bytes)
	go squash(bytes, squashed)
	go assemble(squashed, lines)
	for line := range lines {
		fmt.Printf("|%s|\n", line)
	}
}
