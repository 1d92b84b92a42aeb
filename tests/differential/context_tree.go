// A tree of contexts: deadlines, causes, and who ends with whom.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const ms = time.Millisecond

func show(name string, ctx context.Context) {
	fmt.Printf("%s: %v, because: %v\n", name, ctx.Err(), context.Cause(ctx))
}

func main() {
	begin := time.Now()
	root, stop := context.WithCancelCause(context.Background())
	short, cancelShort := context.WithTimeout(root, 40*ms)
	defer cancelShort()
	long, cancelLong := context.WithTimeout(short, time.Hour) // cut to its parent's
	defer cancelLong()
	named, cancelNamed := context.WithDeadlineCause(root, begin.Add(80*ms), errors.New("the shop closes"))
	defer cancelNamed()
	apart := context.WithoutCancel(named)

	_, has := root.Deadline()
	fmt.Println("root has a deadline:", has)
	inner, _ := long.Deadline()
	outer, _ := short.Deadline()
	fmt.Println("the inner deadline is the outer one:", inner.Equal(outer))

	<-long.Done()
	fmt.Println("at", time.Since(begin).Truncate(20*ms))
	show("long", long)
	show("short", short)
	show("root", root)
	<-named.Done()
	fmt.Println("at", time.Since(begin).Truncate(20*ms))
	show("named", named)
	show("apart", apart)

	leaf, cancelLeaf := context.WithCancel(root)
	ran := make(chan string)
	context.AfterFunc(leaf, func() { ran <- "after leaf" })
	notRun := context.AfterFunc(leaf, func() { ran <- "never" })
	fmt.Println("stopped:", notRun(), notRun())
	stop(errors.New("the user left"))
	fmt.Println(<-ran)
	cancelLeaf() // too late to matter
	show("leaf", leaf)
	late, cancelLate := context.WithCancel(root)
	defer cancelLate()
	show("late", late)
	show("short", short)
}
