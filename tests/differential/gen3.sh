rs() { { echo "//! $2"; printf '#![no_std]\n#![no_main]\n'; cat; } > "$1.rs"; }
go() { { echo "// $2"; printf 'package main\n\n'; cat; } > "$1.go"; }

# ---------------------------------------------------------------- semaphore
D="Ten jobs, at most three of them at a time, and one that does not want to wait."
go semaphore "$D" <<'E'
import (
	"fmt"
	"sync"
	"time"
)

const ms = time.Millisecond

func main() {
	permits := make(chan struct{}, 3)
	tryAcquire := func() bool {
		select {
		case permits <- struct{}{}:
			return true
		default:
			return false
		}
	}
	var mu sync.Mutex
	running, most := 0, 0
	begin := time.Now()
	var jobs sync.WaitGroup
	for range 10 {
		jobs.Go(func() {
			permits <- struct{}{}
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(20 * ms)
			mu.Lock()
			running--
			mu.Unlock()
			<-permits
		})
	}
	time.Sleep(10 * ms)
	fmt.Println("free:", cap(permits)-len(permits), "- one more at once:", tryAcquire())
	jobs.Wait()
	fmt.Println("at most", most, "at a time, in rounds:", int(time.Since(begin)/(20*ms)))
	fmt.Println("free:", cap(permits)-len(permits), "- one more at once:", tryAcquire())
}
E
rs semaphore "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

static PERMITS: Semaphore = Semaphore::new(3);

#[derive(Default)]
struct Count {
    running: u32,
    most: u32,
}

fn job(count: &Mutex<Count>) {
    PERMITS.acquire();
    {
        let mut count = count.lock();
        count.running += 1;
        count.most = count.most.max(count.running);
    }
    sleep(Duration::from_millis(20));
    count.lock().running -= 1;
    PERMITS.release();
}

fn main() {
    let count = Mutex::<Count>::default();
    let begin = Instant::now();
    let show = || {
        let free = PERMITS.available();
        println!("free: {free} - one more at once: {}", PERMITS.try_acquire());
    };
    scope(|jobs| {
        for _ in 0..10 {
            jobs.go(|| job(&count));
        }
        sleep(Duration::from_millis(10));
        show();
    });
    let rounds = begin.elapsed().as_millis() / 20;
    println!("at most {} at a time, in rounds: {rounds}", count.lock().most);
    show();
}
E

# ---------------------------------------------------------------- bank
D="Transfers between accounts: two locks each, always the lower account first."
go bank "$D" <<'E'
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
E
rs bank "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const ACCOUNTS: usize = 6;
const TELLERS: usize = 8;
const TRANSFERS: usize = 250;

type Bank = [Mutex<i64>; ACCOUNTS];

fn transfer(bank: &Bank, from: usize, to: usize, amount: i64) -> bool {
    let mut low = bank[from.min(to)].lock();
    yield_now();
    let mut high = bank[from.max(to)].lock();
    let (from, to) = if from < to { (&mut *low, &mut *high) } else { (&mut *high, &mut *low) };
    if *from < amount {
        return false;
    }
    *from -= amount;
    *to += amount;
    true
}

fn teller(bank: &Bank, teller: usize) -> (u32, u32) {
    let (mut done, mut refused) = (0, 0);
    for i in 0..TRANSFERS {
        let from = (teller + i) % ACCOUNTS;
        let to = (from + 1 + i % (ACCOUNTS - 1)) % ACCOUNTS;
        let amount = 1 + (i * 37 + teller * 11) % 700;
        match transfer(bank, from, to, amount as i64) {
            true => done += 1,
            false => refused += 1,
        }
    }
    (done, refused)
}

fn main() {
    let bank: Bank = [const { Mutex::new(1000) }; ACCOUNTS];
    let all: u32 = scope(|s| {
        let bank = &bank;
        let tellers: Vec<_> = (0..TELLERS).map(|t| s.spawn(move || teller(bank, t))).collect();
        let tries = tellers.into_iter().map(|t| t.join());
        tries.map(|(done, refused)| done + refused).sum()
    });
    let balances = bank.map(Mutex::into_inner);
    let (total, overdrawn) = (balances.iter().sum::<i64>(), balances.iter().any(|b| *b < 0));
    println!("tries {all} - total {total} - overdrawn {overdrawn}");
}
E

# ---------------------------------------------------------------- readers_writers
D="Readers see both halves of a pair or neither, and several of them read at a time."
go readers_writers "$D" <<'E'
import (
	"fmt"
	"runtime"
	"sync"
)

type pair struct {
	sync.RWMutex
	a, b int
}

func main() {
	var p pair
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 100 {
				p.Lock()
				p.a++
				runtime.Gosched()
				p.b++
				p.Unlock()
			}
		})
	}
	torn := make(chan int, 6)
	for range 6 {
		all.Go(func() {
			bad, last := 0, 0
			for range 100 {
				p.RLock()
				if p.a != p.b || p.a < last {
					bad++
				}
				last = p.a
				p.RUnlock()
				runtime.Gosched()
			}
			torn <- bad
		})
	}
	all.Wait()
	bad := 0
	for range 6 {
		bad += <-torn
	}
	fmt.Println("written", p.a, p.b, "- torn reads", bad)

	// All four are inside at once, or this never ends.
	inside, leave := make(chan struct{}), make(chan struct{})
	for range 4 {
		all.Go(func() {
			p.RLock()
			defer p.RUnlock()
			inside <- struct{}{}
			<-leave
		})
	}
	for range 4 {
		<-inside
	}
	fmt.Println("while four read: write", p.TryLock(), "read", p.TryRLock())
	p.RUnlock()
	close(leave)
	all.Wait()
	fmt.Println("when all have left: write", p.TryLock(), "read", p.TryRLock())
}
E
rs readers_writers "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

#[derive(Default)]
struct Pair {
    a: u32,
    b: u32,
}

fn write(p: &RwLock<Pair>) {
    for _ in 0..100 {
        let mut p = p.write();
        p.a += 1;
        yield_now();
        p.b += 1;
    }
}

fn read(p: &RwLock<Pair>) -> u32 {
    let (mut torn, mut last) = (0, 0);
    for _ in 0..100 {
        {
            let p = p.read();
            if p.a != p.b || p.a < last {
                torn += 1;
            }
            last = p.a;
        }
        yield_now();
    }
    torn
}

fn main() {
    let p = &RwLock::<Pair>::default();
    let torn: u32 = scope(|s| {
        for _ in 0..3 {
            s.go(|| write(p));
        }
        let readers: Vec<_> = (0..6).map(|_| s.spawn(|| read(p))).collect();
        readers.into_iter().map(|r| r.join()).sum()
    });
    let done = p.read();
    println!("written {} {} - torn reads {torn}", done.a, done.b);
    drop(done);

    // All four are inside at once, or this never ends.
    let ((tx, inside), (gate, leave)) = (chan(0), chan::<()>(0));
    scope(|s| {
        for _ in 0..4 {
            s.go(|| {
                let _guard = p.read();
                tx.send(()).unwrap();
                leave.recv();
            });
        }
        for _ in 0..4 {
            inside.recv();
        }
        let (write, read) = (p.try_write().is_some(), p.try_read().is_some());
        println!("while four read: write {write} read {read}");
        gate.close();
    });
    let write = p.try_write();
    let read = p.try_read();
    println!("when all have left: write {} read {}", write.is_some(), read.is_some());
}
E

# ---------------------------------------------------------------- once
D="Work that is done once, whoever comes first, and whoever comes meanwhile."
go once "$D" <<'E'
import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

func main() {
	var once sync.Once
	var runs, ready, unready atomic.Int64
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			once.Do(func() {
				for range 10 {
					runtime.Gosched()
				}
				runs.Add(1)
				ready.Store(1)
			})
			if ready.Load() == 0 {
				unready.Add(1)
			}
		})
	}
	callers.Wait()
	fmt.Println("runs", runs.Load(), "- came back too early", unready.Load())

	table := sync.OnceValue(func() []int {
		runs.Add(1)
		squares := []int{}
		for i := range 10 {
			squares = append(squares, i*i)
		}
		return squares
	})
	sums := make(chan int)
	for i := range 10 {
		go func() { sums <- table()[i] }()
	}
	sum := 0
	for range 10 {
		sum += <-sums
	}
	fmt.Println("sum", sum, "- runs", runs.Load())
}
E
rs once "$D" <<'E'
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

static RUNS: AtomicU32 = AtomicU32::new(0);

fn table() -> &'static [u32] {
    static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
    TABLE.get_or_init(|| {
        RUNS.fetch_add(1, SeqCst);
        (0..10).map(|i| i * i).collect()
    })
}

fn main() {
    let (once, ready, unready) = (Once::new(), AtomicBool::new(false), AtomicU32::new(0));
    scope(|s| {
        for _ in 0..20 {
            s.go(|| {
                once.call_once(|| {
                    for _ in 0..10 {
                        yield_now();
                    }
                    RUNS.fetch_add(1, SeqCst);
                    ready.store(true, SeqCst);
                });
                if !ready.load(SeqCst) {
                    unready.fetch_add(1, SeqCst);
                }
            });
        }
    });
    let early = unready.into_inner();
    println!("runs {} - came back too early {early}", RUNS.load(SeqCst));

    let askers: Vec<_> = (0..10).map(|i| spawn(move || table()[i])).collect();
    let sum: u32 = askers.into_iter().map(JoinHandle::join).sum();
    println!("sum {sum} - runs {}", RUNS.load(SeqCst));
}
E

# ---------------------------------------------------------------- token_ring
D="A token goes round a ring of 503 goroutines 10,000 times: who has it last?"
go token_ring "$D" <<'E'
import "fmt"

const members, passes = 503, 10000

func member(number int, from <-chan int, to chan<- int, last chan<- int) {
	for token := range from {
		if token == 0 {
			last <- number
			break
		}
		to <- token - 1
	}
	close(to)
}

func main() {
	last := make(chan int, 1)
	first := make(chan int, 1)
	from := first
	for number := 1; number <= members; number++ {
		to := make(chan int, 1)
		if number == members {
			to = first
		}
		go member(number, from, to, last)
		from = to
	}
	first <- passes
	fmt.Println("the last one is", <-last)
}
E
rs token_ring "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const MEMBERS: u32 = 503;
const PASSES: u32 = 10_000;

/// Answers true if it has the token last. When it ends, its `to` closes, and so the ring falls apart.
fn member(from: Receiver<u32>, to: Sender<u32>) -> bool {
    for token in &from {
        if token == 0 {
            return true;
        }
        to.send(token - 1).unwrap();
    }
    false
}

fn main() {
    let (first, mut from) = chan(1);
    let mut ring = vec![];
    for number in 1..=MEMBERS {
        let (to, next) = match number {
            MEMBERS => (first.clone(), never()),
            _ => chan(1),
        };
        ring.push(spawn(move || member(from, to)));
        from = next;
    }
    first.send(PASSES).unwrap();
    drop(first);
    for (number, handle) in (1..).zip(ring) {
        if handle.join() {
            println!("the last one is {number}");
        }
    }
}
E

# ---------------------------------------------------------------- life
D="Conway's Life on a torus: each cell is a goroutine that talks to its eight neighbours."
go life "$D" <<'E'
import (
	"fmt"
	"strings"
)

const size, generations = 8, 6

var start = [size]string{".#......", "..#.....", "###.....", "........", "........", ".....#..", ".....#..", ".....#.."}

var around = [8][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}}

type link [8]chan bool

func cell(alive bool, in, out link, show chan<- bool) {
	for {
		show <- alive
		for _, to := range out {
			to <- alive
		}
		neighbours := 0
		for _, from := range in {
			if <-from {
				neighbours++
			}
		}
		alive = neighbours == 3 || alive && neighbours == 2
	}
}

func main() {
	var out, in [size][size]link
	for y := range size {
		for x := range size {
			for d, by := range around {
				c := make(chan bool, 1)
				out[y][x][d] = c
				in[(y+by[0]+size)%size][(x+by[1]+size)%size][(d+4)%8] = c
			}
		}
	}
	var show [size][size]chan bool
	for y := range size {
		for x := range size {
			show[y][x] = make(chan bool)
			go cell(start[y][x] == '#', in[y][x], out[y][x], show[y][x])
		}
	}
	for generation := range generations + 1 {
		var board strings.Builder
		for y := range size {
			for x := range size {
				if <-show[y][x] {
					board.WriteByte('#')
				} else {
					board.WriteByte('.')
				}
			}
			board.WriteByte('\n')
		}
		if generation%3 == 0 {
			fmt.Printf("generation %d\n%s", generation, board.String())
		}
	}
}
E
rs life "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const SIZE: usize = 8;
const GENERATIONS: u32 = 6;

const START: [&str; SIZE] = [
    ".#......", "..#.....", "###.....", "........", "........", ".....#..", ".....#..", ".....#..",
];

/// Down, right: what is added to a place, on the torus.
const AROUND: [(usize, usize); 8] = [
    (0, 1), (1, 1), (1, 0), (1, SIZE - 1),
    (0, SIZE - 1), (SIZE - 1, SIZE - 1), (SIZE - 1, 0), (SIZE - 1, 1),
];

struct Cell {
    alive: bool,
    incoming: Vec<Receiver<bool>>,
    outgoing: Vec<Sender<bool>>,
    show: Sender<bool>,
}

impl Cell {
    /// Until nobody looks any more.
    fn live(mut self) {
        while self.show.send(self.alive).is_ok() {
            for to in &self.outgoing {
                drop(to.send(self.alive)); // a neighbour may have ended
            }
            let says_alive = |from: &&Receiver<bool>| from.recv() == Some(true);
            let neighbours = self.incoming.iter().filter(says_alive).count();
            self.alive = neighbours == 3 || self.alive && neighbours == 2;
        }
    }
}

fn main() {
    let (mut cells, mut board) = (vec![], vec![]);
    for alive in START.iter().flat_map(|row| row.chars()).map(|c| c == '#') {
        let (show, look) = chan(0);
        cells.push(Cell { alive, incoming: vec![], outgoing: vec![], show });
        board.push(look);
    }
    for place in 0..SIZE * SIZE {
        for (down, right) in AROUND {
            let (y, x) = ((place / SIZE + down) % SIZE, (place % SIZE + right) % SIZE);
            let (to, from) = chan(1);
            cells[place].outgoing.push(to);
            cells[y * SIZE + x].incoming.push(from);
        }
    }
    cells.into_iter().for_each(|cell| go(move || cell.live()));

    for generation in 0..=GENERATIONS {
        let look = |cell: &Receiver<bool>| if cell.recv() == Some(true) { '#' } else { '.' };
        let rows: Vec<String> = board.chunks(SIZE).map(|row| row.iter().map(look).collect()).collect();
        if generation % 3 == 0 {
            println!("generation {generation}\n{}", rows.join("\n"));
        }
    }
}
E

# ---------------------------------------------------------------- barber
D="The sleeping barber: two chairs to wait in; who finds them taken goes away."
go barber "$D" <<'E'
import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func main() {
	chairs, closed := make(chan int, 2), make(chan []int)
	go func() {
		var shaved []int
		for customer := range chairs {
			time.Sleep(50 * ms)
			shaved = append(shaved, customer)
		}
		closed <- shaved
	}()
	var away []int
	for customer := 1; customer <= 8; customer++ {
		select {
		case chairs <- customer:
		default:
			away = append(away, customer)
		}
		time.Sleep(20 * ms)
	}
	close(chairs)
	fmt.Println("shaved:", <-closed)
	fmt.Println("went away:", away)
}
E
rs barber "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

fn barber(chairs: Receiver<u32>) -> Vec<u32> {
    let shave = |customer| {
        sleep(Duration::from_millis(50));
        customer
    };
    chairs.iter().map(shave).collect()
}

fn show(what: &str, customers: &[u32]) {
    let numbers: Vec<_> = customers.iter().map(u32::to_string).collect();
    println!("{what}: [{}]", numbers.join(" "));
}

fn main() {
    let (chairs, waiting) = chan(2);
    let shop = spawn(move || barber(waiting));
    let mut away = vec![];
    for customer in 1..=8 {
        if let Err(TrySendError::Full(customer)) = chairs.try_send(customer) {
            away.push(customer);
        }
        sleep(Duration::from_millis(20));
    }
    chairs.close();
    show("shaved", &shop.join());
    show("went away", &away);
}
E

# ---------------------------------------------------------------- requests
D="A goroutine owns a table; others send it requests, each with a channel for the answer."
go requests "$D" <<'E'
import (
	"fmt"
	"sync"
)

type request struct {
	key   string
	add   int
	reply chan<- int
}

func owner(requests <-chan request) {
	table := map[string]int{}
	for r := range requests {
		table[r.key] += r.add
		r.reply <- table[r.key]
	}
}

func main() {
	requests := make(chan request)
	go owner(requests)
	ask := func(key string, add int) int {
		reply := make(chan int)
		requests <- request{key, add, reply}
		return <-reply
	}
	var clients sync.WaitGroup
	rising := make(chan bool, 10)
	for client := range 10 {
		clients.Go(func() {
			last, ok := 0, true
			for range 20 {
				now := ask([]string{"even", "odd"}[client%2], client)
				ok = ok && now >= last+client
				last = now
			}
			rising <- ok
		})
	}
	clients.Wait()
	for range 10 {
		if !<-rising {
			fmt.Println("an answer went backwards")
		}
	}
	fmt.Println("even", ask("even", 0), "odd", ask("odd", 0), "other", ask("other", 0))
	close(requests)
}
E
rs requests "$D" <<'E'
extern crate alloc;
use alloc::collections::BTreeMap;
use ringo::prelude::*;
ringo::main!(main);

struct Request {
    key: &'static str,
    add: u32,
    reply: Sender<u32>,
}

fn owner(requests: Receiver<Request>) {
    let mut table = BTreeMap::new();
    for Request { key, add, reply } in &requests {
        let value = table.entry(key).or_insert(0);
        *value += add;
        reply.send(*value).unwrap();
    }
}

fn ask(requests: &Sender<Request>, key: &'static str, add: u32) -> u32 {
    let (reply, answer) = chan(0);
    requests.send(Request { key, add, reply }).unwrap();
    answer.recv().unwrap()
}

fn client(requests: &Sender<Request>, client: u32) -> bool {
    let (mut last, mut rising) = (0, true);
    for _ in 0..20 {
        let now = ask(requests, ["even", "odd"][client as usize % 2], client);
        rising &= now >= last + client;
        last = now;
    }
    rising
}

fn main() {
    let (tx, requests) = chan(0);
    go(move || owner(requests));
    scope(|s| {
        let clients: Vec<_> = (0..10).map(|n| s.spawn({ let tx = &tx; move || client(tx, n) })).collect();
        for client in clients {
            if !client.join() {
                println!("an answer went backwards");
            }
        }
    });
    let all = ["even", "odd", "other"].map(|key| ask(&tx, key, 0));
    println!("even {} odd {} other {}", all[0], all[1], all[2]);
}
E

# ---------------------------------------------------------------- first_of
D="One channel that closes when the first of many does, by a tree of selects."
go first_of "$D" <<'E'
import "fmt"

func firstOf(channels ...<-chan struct{}) <-chan struct{} {
	switch len(channels) {
	case 0:
		return nil
	case 1:
		return channels[0]
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		middle := len(channels) / 2
		select {
		case <-firstOf(append([]<-chan struct{}{done}, channels[:middle]...)...):
		case <-firstOf(append([]<-chan struct{}{done}, channels[middle:]...)...):
		}
	}()
	return done
}

// halves, but without an end: done would be in both halves for ever. So three at a time:
func tree(channels []<-chan struct{}) <-chan struct{} {
	if len(channels) <= 1 {
		return firstOf(channels...)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		middle := len(channels) / 2
		select {
		case <-tree(channels[:middle]):
		case <-tree(channels[middle:]):
		}
	}()
	return done
}

func main() {
	for _, chosen := range []int{0, 13, 31} {
		var receive []<-chan struct{}
		var closers []chan struct{}
		for range 32 {
			c := make(chan struct{})
			receive, closers = append(receive, c), append(closers, c)
		}
		first := tree(receive)
		select {
		case <-first:
			fmt.Println("too early")
		default:
		}
		close(closers[chosen])
		<-first
		fmt.Println("number", chosen, "was enough")
	}
}
E
rs first_of "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);
fn main() {}
E

# ---------------------------------------------------------------- lexer
D="A lexer as a goroutine that sends tokens, and a parser that receives them."
go lexer "$D" <<'E'
import (
	"fmt"
	"strings"
)

type token struct {
	kind  byte // 'n' for a number, else the sign itself
	value int
}

func lex(text string, out chan<- token) {
	defer close(out)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ':
			i++
		case c >= '0' && c <= '9':
			n := 0
			for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
				n = n*10 + int(text[i]-'0')
			}
			out <- token{'n', n}
		case strings.IndexByte("+-*()", c) >= 0:
			out <- token{c, 0}
			i++
		default:
			out <- token{'?', int(c)}
			return
		}
	}
}

type parser struct {
	in   <-chan token
	next token
}

func (p *parser) advance() (t token) {
	t, p.next = p.next, <-p.in
	return t
}

func (p *parser) factor() int {
	switch t := p.advance(); t.kind {
	case 'n':
		return t.value
	case '-':
		return -p.factor()
	case '(':
		v := p.sum()
		p.advance()
		return v
	}
	return 0
}

func (p *parser) product() int {
	v := p.factor()
	for p.next.kind == '*' {
		p.advance()
		v *= p.factor()
	}
	return v
}

func (p *parser) sum() int {
	v := p.product()
	for p.next.kind == '+' || p.next.kind == '-' {
		if p.advance().kind == '+' {
			v += p.product()
		} else {
			v -= p.product()
		}
	}
	return v
}

func main() {
	for _, text := range []string{"1 + 2 * 3", "(1 + 2) * 3", "10 - 4 - 3", "-(2 + 3) * -(4 * 5)", "7 * x"} {
		tokens := make(chan token)
		go lex(text, tokens)
		p := &parser{in: tokens}
		p.advance()
		value := p.sum()
		if p.next.kind == 0 {
			fmt.Println(text, "=", value)
		} else {
			fmt.Printf("%s: cannot read %q\n", text, rune(p.next.value))
		}
	}
}
E
rs lexer "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

#[derive(Clone, Copy, PartialEq)]
enum Token {
    Number(i64),
    Sign(u8),
    Wrong(u8),
}
use Token::{Number, Sign, Wrong};

fn lex(text: &str, out: Sender<Token>) -> Result<(), SendError<Token>> {
    let mut bytes = text.bytes().peekable();
    while let Some(c) = bytes.next() {
        match c {
            b' ' => {}
            b'0'..=b'9' => {
                let mut n = i64::from(c - b'0');
                while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
                    n = n * 10 + i64::from(digit - b'0');
                }
                out.send(Number(n))?;
            }
            b'+' | b'-' | b'*' | b'(' | b')' => out.send(Sign(c))?,
            _ => return out.send(Wrong(c)),
        }
    }
    Ok(())
}

struct Parser {
    tokens: Receiver<Token>,
    next: Option<Token>,
}

impl Parser {
    fn advance(&mut self) -> Option<Token> {
        core::mem::replace(&mut self.next, self.tokens.recv())
    }

    fn takes(&mut self, sign: u8) -> bool {
        let here = self.next == Some(Sign(sign));
        if here {
            self.advance();
        }
        here
    }

    fn factor(&mut self) -> i64 {
        match self.advance() {
            Some(Number(n)) => n,
            Some(Sign(b'-')) => -self.factor(),
            Some(Sign(b'(')) => {
                let v = self.sum();
                self.advance();
                v
            }
            _ => 0,
        }
    }

    fn product(&mut self) -> i64 {
        let mut v = self.factor();
        while self.takes(b'*') {
            v *= self.factor();
        }
        v
    }

    fn sum(&mut self) -> i64 {
        let mut v = self.product();
        loop {
            if self.takes(b'+') {
                v += self.product();
            } else if self.takes(b'-') {
                v -= self.product();
            } else {
                return v;
            }
        }
    }
}

fn main() {
    for text in ["1 + 2 * 3", "(1 + 2) * 3", "10 - 4 - 3", "-(2 + 3) * -(4 * 5)", "7 * x"] {
        let (tx, tokens) = chan(0);
        go(move || drop(lex(text, tx)));
        let next = tokens.recv();
        let mut parser = Parser { tokens, next };
        let value = parser.sum();
        match parser.next {
            Some(Wrong(c)) => println!("{text}: cannot read {:?}", char::from(c)),
            _ => println!("{text} = {value}"),
        }
    }
}
E

# ---------------------------------------------------------------- crawler
D="A crawler: a goroutine for each page that is new, and a lock around what is known."
go crawler "$D" <<'E'
import (
	"fmt"
	"slices"
	"sync"
)

var links = map[string][]string{
	"home":    {"docs", "blog", "about"},
	"docs":    {"home", "install", "api"},
	"install": {"docs", "download"},
	"api":     {"docs", "chan", "sync"},
	"chan":    {"api", "sync"},
	"sync":    {"api", "chan", "missing"},
	"blog":    {"home", "post1", "post2"},
	"post1":   {"blog", "post2"},
	"post2":   {"blog", "post1", "deep"},
	"deep":    {"deeper"},
	"deeper":  {"deepest"},
	"about":   {},
	"download": {},
}

type crawler struct {
	mu    sync.Mutex
	seen  map[string]bool
	found chan string
	pages sync.WaitGroup
}

func (c *crawler) visit(page string, depth int) {
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
	if depth == 0 {
		return
	}
	for _, link := range next {
		c.pages.Go(func() { c.visit(link, depth-1) })
	}
}

func main() {
	c := &crawler{seen: map[string]bool{}, found: make(chan string)}
	c.pages.Go(func() { c.visit("home", 6) })
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
E
rs crawler "$D" <<'E'
extern crate alloc;
use alloc::collections::BTreeSet;
use ringo::prelude::*;
ringo::main!(main);

const LINKS: &[(&str, &[&str])] = &[
    ("home", &["docs", "blog", "about"]),
    ("docs", &["home", "install", "api"]),
    ("install", &["docs", "download"]),
    ("api", &["docs", "chan", "sync"]),
    ("chan", &["api", "sync"]),
    ("sync", &["api", "chan", "missing"]),
    ("blog", &["home", "post1", "post2"]),
    ("post1", &["blog", "post2"]),
    ("post2", &["blog", "post1", "deep"]),
    ("deep", &["deeper"]),
    ("deeper", &["deepest"]),
    ("about", &[]),
    ("download", &[]),
];

#[derive(Clone)]
struct Crawler {
    seen: Arc<Mutex<BTreeSet<&'static str>>>,
    found: Sender<String>,
}

impl Crawler {
    fn visit(self, page: &'static str, depth: u32) {
        if !self.seen.lock().insert(page) {
            return;
        }
        let Some((_, next)) = LINKS.iter().find(|(name, _)| *name == page) else {
            return self.found.send(format!("{page} is missing")).unwrap();
        };
        self.found.send(page.into()).unwrap();
        if depth == 0 {
            return;
        }
        for link in *next {
            let crawler = self.clone();
            go(move || crawler.visit(link, depth - 1));
        }
    }
}

fn main() {
    let (found, lines) = chan(0);
    let crawler = Crawler { seen: Arc::default(), found };
    go(move || crawler.visit("home", 6));
    let mut all: Vec<String> = lines.iter().collect(); // until the last crawler is gone
    all.sort();
    println!("{}", all.join("\n"));
}
E
