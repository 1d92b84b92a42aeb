// Tries with growing pauses between them, until one succeeds or the deadline comes.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const ms = time.Millisecond

func retry(ctx context.Context, try func(n int) error) error {
	pause := 10 * ms
	for n := 1; ; n++ {
		err := try(n)
		if err == nil {
			return nil
		}
		fmt.Printf("try %d: %v, next in %v\n", n, err, pause)
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return fmt.Errorf("given up after %d tries: %w", n, ctx.Err())
		}
	}
}

func main() {
	busy := errors.New("busy")
	for _, free := range []int{3, 100} {
		ctx, cancel := context.WithTimeout(context.Background(), 100*ms)
		begin := time.Now()
		err := retry(ctx, func(n int) error {
			if n < free {
				return busy
			}
			return nil
		})
		fmt.Println("after", time.Since(begin).Truncate(10*ms), err, errors.Is(err, context.DeadlineExceeded))
		cancel()
	}
}
