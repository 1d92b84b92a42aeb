// A crawler: a goroutine for each page that is new, and a lock around what is known.
package main

import (
	"fmt"
	"slices"
	"sync"
)

var links = map[string][]string{
	"home":     {"docs", "blog", "about"},
	"docs":     {"home", "install", "api"},
	"install":  {"docs", "download"},
	"api":      {"docs", "chan", "sync"},
	"chan":     {"api", "sync"},
	"sync":     {"api", "chan", "missing"},
	"blog":     {"home", "post1", "post2"},
	"post1":    {"blog", "post2"},
	"post2":    {"blog", "post1", "deep"},
	"deep":     {"deeper"},
	"deeper":   {"deepest"},
	"about":    {},
	"download": {},
}

type crawler struct {
	mu    sync.Mutex
	seen  map[string]bool
	found chan string
	pages sync.WaitGroup
}

func (c *crawler) visit(page string) {
	c.mu.Lock()
	known := c.seen[page]
	c.seen[page] = true
	c.mu.Unlock()
	if known {
		return
	}
	next, exists := links[page]
	if !exists {
		c.found <- page + " is missing"
		return
	}
	c.found <- page
	for _, link := range next {
		c.pages.Go(func() { c.visit(link) })
	}
}

func main() {
	c := &crawler{seen: map[string]bool{}, found: make(chan string)}
	c.pages.Go(func() { c.visit("home") })
	go func() {
		c.pages.Wait()
		close(c.found)
	}()
	var all []string
	for line := range c.found {
		all = append(all, line)
	}
	slices.Sort(all)
	for _, line := range all {
		fmt.Println(line)
	}
}
