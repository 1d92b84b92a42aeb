// A product of matrices, a goroutine for each row.
package main

import (
	"fmt"
	"sync"
)

const n = 24

type matrix [n][n]int

func product(a, b *matrix) *matrix {
	var c matrix
	var rows sync.WaitGroup
	for i := range n {
		rows.Go(func() {
			for j := range n {
				for k := range n {
					c[i][j] += a[i][k] * b[k][j]
				}
				c[i][j] %= 1009
			}
		})
	}
	rows.Wait()
	return &c
}

func main() {
	var a, power matrix
	for i := range n {
		power[i][i] = 1
		for j := range n {
			a[i][j] = (i*7 + j*3) % 10
		}
	}
	for exponent := 1; exponent <= 4; exponent++ {
		power = *product(&power, &a)
		trace := 0
		for i := range n {
			trace += power[i][i]
		}
		fmt.Println("power", exponent, "trace", trace, "corner", power[0][n-1])
	}
}
