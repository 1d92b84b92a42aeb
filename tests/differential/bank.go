// Transfers between accounts: two locks each, always the lower account first.
package main

import (
	"fmt"
	"runtime"
	"sync"
)

const accounts, tellers, transfers = 6, 8, 250

type account struct {
	sync.Mutex
	balance int
}

func transfer(bank []account, from, to, amount int) bool {
	first, second := &bank[min(from, to)], &bank[max(from, to)]
	first.Lock()
	defer first.Unlock()
	runtime.Gosched()
	second.Lock()
	defer second.Unlock()
	if bank[from].balance < amount {
		return false
	}
	bank[from].balance -= amount
	bank[to].balance += amount
	return true
}

func main() {
	bank := make([]account, accounts)
	for i := range bank {
		bank[i].balance = 1000
	}
	tries := make(chan [2]int, tellers)
	for teller := range tellers {
		go func() {
			done, refused := 0, 0
			for i := range transfers {
				from := (teller + i) % accounts
				to := (from + 1 + i%(accounts-1)) % accounts
				if transfer(bank, from, to, 1+(i*37+teller*11)%700) {
					done++
				} else {
					refused++
				}
			}
			tries <- [2]int{done, refused}
		}()
	}
	all := 0
	for range tellers {
		t := <-tries
		all += t[0] + t[1]
	}
	total, overdrawn := 0, false
	for i := range bank {
		total += bank[i].balance
		overdrawn = overdrawn || bank[i].balance < 0
	}
	fmt.Println("tries", all, "- total", total, "- overdrawn", overdrawn)
}
