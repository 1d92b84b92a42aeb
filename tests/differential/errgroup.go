// The first error stops all others, and is what the group answers.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

type group struct {
	wg     sync.WaitGroup
	cancel context.CancelCauseFunc
	ctx    context.Context
}

func newGroup() *group {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &group{ctx: ctx, cancel: cancel}
}

func (g *group) run(task func(ctx context.Context) error) {
	g.wg.Go(func() {
		if err := task(g.ctx); err != nil {
			g.cancel(err) // only the first counts
		}
	})
}

func (g *group) wait() error {
	g.wg.Wait()
	return context.Cause(g.ctx)
}

func main() {
	g := newGroup()
	done := make(chan int, 8)
	for id := range 8 {
		g.run(func(context.Context) error {
			done <- id
			return nil
		})
	}
	fmt.Println("all well:", g.wait(), len(done))

	g = newGroup()
	stopped := make(chan error, 8)
	for id := range 8 {
		g.run(func(ctx context.Context) error {
			if id == 3 {
				return fmt.Errorf("task %d: no such file", id)
			}
			<-ctx.Done()
			stopped <- ctx.Err()
			return errors.New("stopped")
		})
	}
	err := g.wait()
	fmt.Println("failed:", err)
	for range len(stopped) {
		fmt.Println("another:", <-stopped)
	}
}
