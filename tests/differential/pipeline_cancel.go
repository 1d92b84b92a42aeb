// A pipeline without end, of three stages, until its reader has had enough.
package main

import (
	"context"
	"fmt"
	"sync"
)

func stage[T, U any](ctx context.Context, wg *sync.WaitGroup, in <-chan T, f func(T) (U, bool)) <-chan U {
	out := make(chan U)
	wg.Go(func() {
		defer close(out)
		for v := range in {
			u, pass := f(v)
			if !pass {
				continue
			}
			select {
			case out <- u:
			case <-ctx.Done():
				return
			}
		}
	})
	return out
}

func naturals(ctx context.Context, wg *sync.WaitGroup) <-chan int {
	out := make(chan int)
	wg.Go(func() {
		defer close(out)
		for n := 0; ; n++ {
			select {
			case out <- n:
			case <-ctx.Done():
				return
			}
		}
	})
	return out
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stages sync.WaitGroup
	squares := stage(ctx, &stages, naturals(ctx, &stages), func(n int) (int, bool) { return n * n, true })
	odd := stage(ctx, &stages, squares, func(n int) (int, bool) { return n, n%2 == 1 })
	lines := stage(ctx, &stages, odd, func(n int) (string, bool) { return fmt.Sprint("square ", n), true })
	for range 6 {
		fmt.Println(<-lines)
	}
	fmt.Println("before:", ctx.Err())
	cancel()
	stages.Wait()
	fmt.Println("after:", ctx.Err())
}
