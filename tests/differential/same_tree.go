// Two walkers compare binary trees in step, and stop at the first difference.
package main

import "fmt"

type tree struct {
	left, right *tree
	value       int
}

func (t *tree) insert(v int) *tree {
	switch {
	case t == nil:
		return &tree{value: v}
	case v < t.value:
		t.left = t.left.insert(v)
	default:
		t.right = t.right.insert(v)
	}
	return t
}

func (t *tree) walk(out chan<- int, stop <-chan struct{}) bool {
	if t == nil {
		return true
	}
	if !t.left.walk(out, stop) {
		return false
	}
	select {
	case out <- t.value:
	case <-stop:
		return false
	}
	return t.right.walk(out, stop)
}

func values(t *tree, stop <-chan struct{}) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		t.walk(out, stop)
	}()
	return out
}

// same tells whether the trees hold the same values, and how many it looked at.
func same(a, b *tree) (bool, int) {
	stop := make(chan struct{})
	defer close(stop)
	va, vb := values(a, stop), values(b, stop)
	for n := 0; ; n++ {
		x, okA := <-va
		y, okB := <-vb
		if okA != okB || x != y {
			return false, n
		}
		if !okA {
			return true, n
		}
	}
}

func build(n, step, extra int) *tree {
	var t *tree
	for i := range n {
		t = t.insert(i * step % n)
	}
	return t.insert(extra)
}

func main() {
	fmt.Println(same(build(100, 7, 40), build(100, 33, 40)))
	fmt.Println(same(build(100, 7, 40), build(100, 33, 41)))
	fmt.Println(same(build(100, 7, 99), build(99, 2, 98)))
	fmt.Println(same(nil, nil))
}
