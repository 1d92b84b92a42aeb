// Queens that do not attack each other: a goroutine for each place of the first two.
package main

import (
	"fmt"
	"sync"
)

// count tells how many ways there are to go on; the masks say what is attacked.
func count(n, row int, columns, left, right uint) int {
	if row == n {
		return 1
	}
	ways := make([]int, n)
	var places sync.WaitGroup
	for column := range n {
		bit := uint(1) << column
		if (columns|left|right)&bit != 0 {
			continue
		}
		next := func() {
			ways[column] = count(n, row+1, columns|bit, (left|bit)<<1, (right|bit)>>1)
		}
		if row < 2 {
			places.Go(next)
		} else {
			next()
		}
	}
	places.Wait()
	sum := 0
	for _, w := range ways {
		sum += w
	}
	return sum
}

func main() {
	for n := 1; n <= 8; n++ {
		fmt.Println(n, "queens:", count(n, 0, 0, 0, 0))
	}
}
