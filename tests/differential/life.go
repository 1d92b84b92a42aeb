// Conway's Life on a torus: each cell is a goroutine that talks to its eight neighbours.
package main

import (
	"fmt"
	"strings"
)

const size, generations = 8, 6

var start = [size]string{".#......", "..#.....", "###.....", "........", "........", ".....#..", ".....#..", ".....#.."}

var around = [8][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}}

type link [8]chan bool

func cell(alive bool, in, out link, show chan<- bool) {
	for {
		show <- alive
		for _, to := range out {
			to <- alive
		}
		neighbours := 0
		for _, from := range in {
			if <-from {
				neighbours++
			}
		}
		alive = neighbours == 3 || alive && neighbours == 2
	}
}

func main() {
	var out, in [size][size]link
	for y := range size {
		for x := range size {
			for d, by := range around {
				c := make(chan bool, 1)
				out[y][x][d] = c
				in[(y+by[0]+size)%size][(x+by[1]+size)%size][(d+4)%8] = c
			}
		}
	}
	var show [size][size]chan bool
	for y := range size {
		for x := range size {
			show[y][x] = make(chan bool)
			go cell(start[y][x] == '#', in[y][x], out[y][x], show[y][x])
		}
	}
	for generation := range generations + 1 {
		var board strings.Builder
		for y := range size {
			for x := range size {
				if <-show[y][x] {
					board.WriteByte('#')
				} else {
					board.WriteByte('.')
				}
			}
			board.WriteByte('\n')
		}
		if generation%3 == 0 {
			fmt.Printf("generation %d\n%s", generation, board.String())
		}
	}
}
