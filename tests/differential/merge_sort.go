// Merge sort: each half is sorted by a goroutine of its own, down to sixteen numbers.
package main

import (
	"fmt"
	"slices"
)

func merge(a, b []uint32) []uint32 {
	all := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

func sorted(numbers []uint32) []uint32 {
	if len(numbers) <= 16 {
		numbers = slices.Clone(numbers)
		slices.Sort(numbers)
		return numbers
	}
	middle := len(numbers) / 2
	left := make(chan []uint32)
	go func() { left <- sorted(numbers[:middle]) }()
	right := sorted(numbers[middle:])
	return merge(<-left, right)
}

func main() {
	numbers := make([]uint32, 5000)
	seed := uint32(1)
	for i := range numbers {
		seed = seed*1664525 + 1013904223
		numbers[i] = seed >> 8
	}
	result := sorted(numbers)
	fmt.Println(len(result), slices.IsSorted(result))
	fmt.Println(result[0], result[1250], result[2500], result[3750], result[4999])
}
