w() { cat > "$1"; }
rs() { { echo "//! $2"; printf '#![no_std]\n#![no_main]\n'; cat; } > "$1.rs"; }
go() { { echo "// $2"; printf 'package main\n\n'; cat; } > "$1.go"; }

# ---------------------------------------------------------------- chain
D="Ten thousand goroutines in a row: each adds one to what comes from its right."
go chain "$D" <<'E'
import "fmt"

const links = 10000

func pass(left chan<- int, right <-chan int) {
	left <- 1 + <-right
}

func main() {
	leftmost := make(chan int)
	right := leftmost
	left := leftmost
	for range links {
		right = make(chan int)
		go pass(left, right)
		left = right
	}
	right <- 0
	fmt.Println(<-leftmost)
}
E
rs chain "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const LINKS: u32 = 10_000;

fn pass(left: Sender<u32>, right: Receiver<u32>) {
    let n = right.recv().unwrap();
    left.send(n + 1).unwrap();
}

fn main() {
    let (mut left, leftmost) = chan(0);
    for _ in 0..LINKS {
        let (tx, right) = chan(0);
        go(move || pass(left, right));
        left = tx;
    }
    left.send(0).unwrap();
    println!("{}", leftmost.recv().unwrap());
}
E

# ---------------------------------------------------------------- power_series
D="Power series as streams of coefficients: sine and cosine feed each other (after McIlroy)."
go power_series "$D" <<'E'
import "fmt"

const terms = 10

type rat struct{ num, den int64 }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func ratio(num, den int64) rat {
	g := gcd(num, den)
	if g < 0 != (den < 0) {
		g = -g
	}
	return rat{num / g, den / g}
}

func (a rat) add(b rat) rat { return ratio(a.num*b.den+b.num*a.den, a.den*b.den) }
func (a rat) mul(b rat) rat { return ratio(a.num*b.num, a.den*b.den) }

type series <-chan rat

// stream sends what f makes of n for each n.
func stream(f func(n int) rat) series {
	out := make(chan rat)
	go func() {
		defer close(out)
		for n := range terms {
			out <- f(n)
		}
	}()
	return out
}

func add(a, b series) series { return stream(func(int) rat { return (<-a).add(<-b) }) }

func scale(c rat, a series) series { return stream(func(int) rat { return c.mul(<-a) }) }

func mul(a, b series) series {
	var as, bs []rat
	return stream(func(n int) rat {
		as, bs = append(as, <-a), append(bs, <-b)
		sum := rat{0, 1}
		for i := range as {
			sum = sum.add(as[i].mul(bs[n-i]))
		}
		return sum
	})
}

// integral begins with c, before it asks a for anything.
func integral(c rat, a series) series {
	return stream(func(n int) rat {
		if n == 0 {
			return c
		}
		return (<-a).mul(rat{1, int64(n)})
	})
}

// split copies a into series that may be read at different speeds.
func split(a series, outs ...chan rat) {
	for r := range a {
		for _, out := range outs {
			out <- r
		}
	}
	for _, out := range outs {
		close(out)
	}
}

func room() chan rat { return make(chan rat, terms) }

func show(name string, a series) {
	fmt.Print(name)
	for r := range a {
		fmt.Printf(" %d/%d", r.num, r.den)
	}
	fmt.Println()
}

func main() {
	zero, one, minus := rat{0, 1}, rat{1, 1}, rat{-1, 1}

	loop, exp := room(), room()
	go split(integral(one, loop), loop, exp)
	show("exp", exp)

	sinLoop, sin, sin2, sin3 := room(), room(), room(), room()
	cosLoop, cos, cos2, cos3 := room(), room(), room(), room()
	go split(integral(zero, cosLoop), sinLoop, sin, sin2, sin3)
	go split(integral(one, scale(minus, sinLoop)), cosLoop, cos, cos2, cos3)
	show("sin", sin)
	show("cos", cos)
	show("one", add(mul(sin2, sin3), mul(cos2, cos3)))
}
E
rs power_series "$D" <<'E'
use core::ops::{Add, Mul};
use ringo::prelude::*;
ringo::main!(main);

const TERMS: usize = 10;

#[derive(Clone, Copy)]
struct Rat {
    num: i64,
    den: i64,
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn ratio(num: i64, den: i64) -> Rat {
    let g = gcd(num, den).abs() * den.signum();
    Rat { num: num / g, den: den / g }
}

impl Add for Rat {
    type Output = Rat;
    fn add(self, b: Rat) -> Rat {
        ratio(self.num * b.den + b.num * self.den, self.den * b.den)
    }
}

impl Mul for Rat {
    type Output = Rat;
    fn mul(self, b: Rat) -> Rat {
        ratio(self.num * b.num, self.den * b.den)
    }
}

type Series = Receiver<Rat>;

/// Sends what `f` makes of `n` for each `n`.
fn stream(mut f: impl FnMut(usize) -> Rat + Send + 'static) -> Series {
    let (out, series) = chan(0);
    go(move || (0..TERMS).for_each(|n| out.send(f(n)).unwrap()));
    series
}

fn next(a: &Series) -> Rat {
    a.recv().unwrap()
}

fn add(a: Series, b: Series) -> Series {
    stream(move |_| next(&a) + next(&b))
}

fn scale(c: Rat, a: Series) -> Series {
    stream(move |_| c * next(&a))
}

fn mul(a: Series, b: Series) -> Series {
    let (mut all_a, mut all_b) = (vec![], vec![]);
    stream(move |_| {
        all_a.push(next(&a));
        all_b.push(next(&b));
        let products = all_a.iter().zip(all_b.iter().rev()).map(|(a, b)| *a * *b);
        products.fold(ratio(0, 1), Rat::add)
    })
}

/// Begins with `c`, before it asks `a` for anything.
fn integral(c: Rat, a: Series) -> Series {
    stream(move |n| match n {
        0 => c,
        _ => next(&a) * ratio(1, n as i64),
    })
}

/// Copies `a` into series that may be read at different speeds. Nobody may want some of them any more.
fn split<const N: usize>(a: Series, outs: [Sender<Rat>; N]) {
    go(move || {
        for r in &a {
            outs.iter().for_each(|out| drop(out.send(r)));
        }
    });
}

fn room() -> (Sender<Rat>, Series) {
    chan(TERMS)
}

fn show(name: &str, a: Series) {
    print!("{name}");
    for r in &a {
        print!(" {}/{}", r.num, r.den);
    }
    println!();
}

fn main() {
    let (zero, one, minus) = (ratio(0, 1), ratio(1, 1), ratio(-1, 1));

    let ((again, looped), (out, exp)) = (room(), room());
    split(integral(one, looped), [again, out]);
    show("exp", exp);

    let ((s0, sin_loop), (s1, sin), (s2, sin2), (s3, sin3)) = (room(), room(), room(), room());
    let ((c0, cos_loop), (c1, cos), (c2, cos2), (c3, cos3)) = (room(), room(), room(), room());
    split(integral(zero, cos_loop), [s0, s1, s2, s3]);
    split(integral(one, scale(minus, sin_loop)), [c0, c1, c2, c3]);
    show("sin", sin);
    show("cos", cos);
    show("one", add(mul(sin2, sin3), mul(cos2, cos3)));
}
E

# ---------------------------------------------------------------- fan_in
D="Three producers, one consumer: a channel that is closed becomes a case that is off."
go fan_in "$D" <<'E'
import "fmt"

func count(n, step int) <-chan int {
	out := make(chan int)
	go func() {
		for i := range n {
			out <- i * step
		}
		close(out)
	}()
	return out
}

type tally struct {
	seen, last int
	ordered    bool
}

func (t *tally) take(v int) {
	t.ordered = t.ordered && v > t.last
	t.seen, t.last = t.seen+1, v
}

func main() {
	a, b, c := count(30, 1), count(20, 10), count(10, 100)
	ta, tb, tc := tally{0, -1, true}, tally{0, -1, true}, tally{0, -1, true}
	for a != nil || b != nil || c != nil {
		select {
		case v, ok := <-a:
			if ok {
				ta.take(v)
			} else {
				a = nil
			}
		case v, ok := <-b:
			if ok {
				tb.take(v)
			} else {
				b = nil
			}
		case v, ok := <-c:
			if ok {
				tc.take(v)
			} else {
				c = nil
			}
		}
	}
	for _, t := range []tally{ta, tb, tc} {
		fmt.Println(t.seen, t.last, t.ordered)
	}
}
E
rs fan_in "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

fn count(n: i32, step: i32) -> Receiver<i32> {
    let (out, rx) = chan(0);
    go(move || (0..n).for_each(|i| out.send(i * step).unwrap()));
    rx
}

struct Tally {
    seen: u32,
    last: i32,
    ordered: bool,
}

impl Tally {
    fn new() -> Tally {
        Tally { seen: 0, last: -1, ordered: true }
    }

    fn take(&mut self, v: i32) {
        self.ordered &= v > self.last;
        self.seen += 1;
        self.last = v;
    }
}

fn main() {
    let (mut a, mut b, mut c) = (count(30, 1), count(20, 10), count(10, 100));
    let (mut ta, mut tb, mut tc) = (Tally::new(), Tally::new(), Tally::new());
    let mut open = 3;
    while open > 0 {
        // An arm for each: what came, or that nothing more will come.
        let closed = select! {
            recv(a) -> v => v.map_or(Some(&mut a), |v| { ta.take(v); None }),
            recv(b) -> v => v.map_or(Some(&mut b), |v| { tb.take(v); None }),
            recv(c) -> v => v.map_or(Some(&mut c), |v| { tc.take(v); None }),
        };
        if let Some(channel) = closed {
            *channel = never();
            open -= 1;
        }
    }
    for t in [ta, tb, tc] {
        println!("{} {} {}", t.seen, t.last, t.ordered);
    }
}
E

# ---------------------------------------------------------------- fan_out
D="One source, four workers, one sink: the longest way to 1 by Collatz's rule."
go fan_out "$D" <<'E'
import (
	"fmt"
	"sync"
)

type result struct{ n, steps int }

func collatz(n int) int {
	steps := 0
	for n != 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		steps++
	}
	return steps
}

func main() {
	numbers, results := make(chan int), make(chan result)
	go func() {
		for n := 1; n <= 1000; n++ {
			numbers <- n
		}
		close(numbers)
	}()
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for n := range numbers {
				results <- result{n, collatz(n)}
			}
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()

	count, total, best := 0, 0, result{}
	for r := range results {
		count++
		total += r.steps
		if r.steps > best.steps || r.steps == best.steps && r.n < best.n {
			best = r
		}
	}
	fmt.Println(count, "numbers,", total, "steps; most for", best.n, "with", best.steps)
}
E
rs fan_out "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() {
    let (tx, numbers) = chan(0);
    go(move || (1..=1000).for_each(|n| tx.send(n).unwrap()));

    let (tx, results) = chan(0);
    for _ in 0..4 {
        let (numbers, tx) = (numbers.clone(), tx.clone());
        go(move || numbers.iter().for_each(|n| tx.send((n, collatz(n))).unwrap()));
    }
    drop(tx); // the last worker's sender closes

    let (mut count, mut total, mut best) = (0, 0, (0, 0));
    for (n, steps) in &results {
        count += 1;
        total += steps;
        if steps > best.1 || steps == best.1 && n < best.0 {
            best = (n, steps);
        }
    }
    println!("{count} numbers, {total} steps; most for {} with {}", best.0, best.1);
}
E

# ---------------------------------------------------------------- worker_pool
D="A pool of three workers, jobs in a buffered channel, results in the order of their jobs."
go worker_pool "$D" <<'E'
import (
	"fmt"
	"strings"
	"sync"
)

type job struct {
	id   int
	text string
}

type answer struct{ id, words, letters int }

func work(jobs <-chan job, answers chan<- answer) {
	for j := range jobs {
		words := strings.Fields(j.text)
		letters := 0
		for _, word := range words {
			letters += len(word)
		}
		answers <- answer{j.id, len(words), letters}
	}
}

func main() {
	texts := []string{
		"share memory by communicating",
		"concurrency is not parallelism",
		"channels orchestrate",
		"mutexes serialize",
		"make the zero value useful",
		"a little copying is better than a little dependency",
	}
	jobs, answers := make(chan job, len(texts)), make(chan answer, len(texts))
	var pool sync.WaitGroup
	for range 3 {
		pool.Go(func() { work(jobs, answers) })
	}
	for id, text := range texts {
		jobs <- job{id, text}
	}
	close(jobs)
	pool.Wait()
	close(answers)

	sorted := make([]answer, len(texts))
	for a := range answers {
		sorted[a.id] = a
	}
	for _, a := range sorted {
		fmt.Printf("job %d: %d words, %d letters\n", a.id, a.words, a.letters)
	}
	fmt.Println("left:", len(jobs), "of", cap(jobs))
}
E
rs worker_pool "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

struct Job {
    id: usize,
    text: &'static str,
}

#[derive(Clone, Copy, Default)]
struct Answer {
    id: usize,
    words: usize,
    letters: usize,
}

fn work(jobs: &Receiver<Job>, answers: &Sender<Answer>) {
    for Job { id, text } in jobs {
        let words = text.split_whitespace();
        let letters = words.clone().map(str::len).sum();
        answers.send(Answer { id, words: words.count(), letters }).unwrap();
    }
}

fn main() {
    let texts = [
        "share memory by communicating",
        "concurrency is not parallelism",
        "channels orchestrate",
        "mutexes serialize",
        "make the zero value useful",
        "a little copying is better than a little dependency",
    ];
    let ((to_pool, jobs), (tx, answers)) = (chan(texts.len()), chan(texts.len()));
    let pool = WaitGroup::new();
    for _ in 0..3 {
        let (jobs, tx) = (jobs.clone(), tx.clone());
        pool.go(move || work(&jobs, &tx));
    }
    for (id, text) in texts.into_iter().enumerate() {
        to_pool.send(Job { id, text }).unwrap();
    }
    to_pool.close();
    pool.wait();
    tx.close();

    let mut sorted = [Answer::default(); 6];
    for a in &answers {
        sorted[a.id] = a;
    }
    for Answer { id, words, letters } in sorted {
        println!("job {id}: {words} words, {letters} letters");
    }
    println!("left: {} of {}", jobs.len(), jobs.capacity());
}
E

# ---------------------------------------------------------------- philosophers
D="Dining philosophers: all take the left fork first, but one, so that they cannot wait in a circle."
go philosophers "$D" <<'E'
import (
	"fmt"
	"runtime"
	"sync"
)

const seats, courses = 5, 200

type fork struct {
	sync.Mutex
	used int
}

func dine(seat int, first, second *fork) int {
	meals := 0
	for range courses {
		first.Lock()
		runtime.Gosched() // the best moment for a deadlock
		second.Lock()
		first.used++
		second.used++
		meals++
		second.Unlock()
		first.Unlock()
	}
	return meals
}

func main() {
	var forks [seats]fork
	var meals [seats]int
	var table sync.WaitGroup
	for seat := range seats {
		left, right := &forks[seat], &forks[(seat+1)%seats]
		if seat == seats-1 {
			left, right = right, left
		}
		table.Go(func() { meals[seat] = dine(seat, left, right) })
	}
	table.Wait()
	for seat := range seats {
		fmt.Println("philosopher", seat, "ate", meals[seat], "times; fork", seat, "was used", forks[seat].used, "times")
	}
}
E
rs philosophers "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const SEATS: usize = 5;
const COURSES: u32 = 200;

/// How often it was used.
type Fork = Mutex<u32>;

fn dine(first: &Fork, second: &Fork) -> u32 {
    let mut meals = 0;
    for _ in 0..COURSES {
        let mut first = first.lock();
        yield_now(); // the best moment for a deadlock
        let mut second = second.lock();
        *first += 1;
        *second += 1;
        meals += 1;
    }
    meals
}

fn main() {
    let forks: [Fork; SEATS] = [const { Mutex::new(0) }; SEATS];
    let mut meals = [0; SEATS];
    scope(|table| {
        for (seat, meals) in meals.iter_mut().enumerate() {
            let (mut left, mut right) = (&forks[seat], &forks[(seat + 1) % SEATS]);
            if seat == SEATS - 1 {
                (left, right) = (right, left);
            }
            table.go(move || *meals = dine(left, right));
        }
    });
    for (seat, (meals, fork)) in meals.into_iter().zip(forks).enumerate() {
        let used = fork.into_inner();
        println!("philosopher {seat} ate {meals} times; fork {seat} was used {used} times");
    }
}
E

# ---------------------------------------------------------------- bounded_buffer
D="A buffer of four places made of a mutex and two conditions."
go bounded_buffer "$D" <<'E'
import (
	"fmt"
	"sync"
)

const room, producers, each = 4, 3, 100

type buffer struct {
	mu       sync.Mutex
	notEmpty *sync.Cond
	notFull  *sync.Cond
	items    []int
	most     int
}

func newBuffer() *buffer {
	b := &buffer{}
	b.notEmpty, b.notFull = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	return b
}

func (b *buffer) put(v int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == room {
		b.notFull.Wait()
	}
	b.items = append(b.items, v)
	b.most = max(b.most, len(b.items))
	b.notEmpty.Signal()
}

func (b *buffer) get() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == 0 {
		b.notEmpty.Wait()
	}
	v := b.items[0]
	b.items = b.items[1:]
	b.notFull.Signal()
	return v
}

func main() {
	b := newBuffer()
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for i := range each {
				b.put(p*1000 + i)
			}
		})
	}
	sums := make(chan int, 2)
	for range 2 {
		all.Go(func() {
			sum := 0
			for range producers * each / 2 {
				sum += b.get()
			}
			sums <- sum
		})
	}
	all.Wait()
	fmt.Println("sum", <-sums+<-sums)
	fmt.Println("left", len(b.items), "- never more than", room, b.most <= room)
}
E
rs bounded_buffer "$D" <<'E'
extern crate alloc;
use alloc::collections::VecDeque;
use ringo::prelude::*;
ringo::main!(main);

const ROOM: usize = 4;
const PRODUCERS: u64 = 3;
const EACH: u64 = 100;

#[derive(Default)]
struct State {
    items: VecDeque<u64>,
    most: usize,
}

struct Buffer {
    state: Mutex<State>,
    not_empty: Cond,
    not_full: Cond,
}

impl Buffer {
    fn put(&self, v: u64) {
        let mut state = self.state.lock();
        while state.items.len() == ROOM {
            state = self.not_full.wait(state);
        }
        state.items.push_back(v);
        state.most = state.most.max(state.items.len());
        self.not_empty.notify_one();
    }

    fn get(&self) -> u64 {
        let mut state = self.state.lock();
        loop {
            if let Some(v) = state.items.pop_front() {
                self.not_full.notify_one();
                return v;
            }
            state = self.not_empty.wait(state);
        }
    }
}

fn main() {
    let buffer = Buffer {
        state: Mutex::default(),
        not_empty: Cond::new(),
        not_full: Cond::new(),
    };
    let b = &buffer;
    let sum: u64 = scope(|s| {
        for p in 0..PRODUCERS {
            s.go(move || (0..EACH).for_each(|i| b.put(p * 1000 + i)));
        }
        let half = || (0..PRODUCERS * EACH / 2).map(|_| b.get()).sum::<u64>();
        let consumers = [s.spawn(half), s.spawn(half)];
        consumers.map(|c| c.join()).into_iter().sum()
    });
    println!("sum {sum}");
    let state = buffer.state.into_inner();
    println!("left {} - never more than {ROOM} {}", state.items.len(), state.most <= ROOM);
}
E

# ---------------------------------------------------------------- rate_limiter
D="A bucket of three tokens that gets a new one with each tick: a burst, and then one at a time."
go rate_limiter "$D" <<'E'
import (
	"fmt"
	"time"
)

const tick = 20 * time.Millisecond

func main() {
	bucket := make(chan struct{}, 3)
	for range cap(bucket) {
		bucket <- struct{}{}
	}
	done := make(chan struct{})
	ticker := time.NewTicker(tick)
	go func() {
		defer close(done)
		for {
			select {
			case <-ticker.C:
				select {
				case bucket <- struct{}{}:
				default: // it is full
				}
			case <-done:
				return
			}
		}
	}()

	begin := time.Now()
	for request := range 8 {
		<-bucket
		fmt.Printf("request %d: tick %d\n", request, time.Since(begin)/tick)
	}
	time.Sleep(tick*5 + tick/2)
	fmt.Println("after a rest:", len(bucket), "tokens")
	ticker.Stop()
	done <- struct{}{}
	<-done
}
E
rs rate_limiter "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const TICK: Duration = Duration::from_millis(20);

fn fill(bucket: &Sender<()>, done: &Receiver<()>) {
    let ticker = Ticker::new(TICK);
    loop {
        select! {
            recv(ticker.receiver()) -> _tick => drop(bucket.try_send(())), // it may be full
            recv(done) -> _over => return,
        }
    }
}

fn main() {
    let (tx, bucket) = chan(3);
    for _ in 0..bucket.capacity() {
        tx.send(()).unwrap();
    }
    let (done, over) = chan(0);
    let filler = spawn(move || fill(&tx, &over));

    let begin = Instant::now();
    for request in 0..8 {
        bucket.recv();
        println!("request {request}: tick {}", begin.elapsed().as_nanos() / TICK.as_nanos());
    }
    sleep(TICK * 5 + TICK / 2);
    println!("after a rest: {} tokens", bucket.len());
    done.close();
    filler.join();
}
E

# ---------------------------------------------------------------- pubsub
D="A broker that knows topics and subscribers; who reads slowly gets everything all the same."
go pubsub "$D" <<'E'
import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

type subscription struct {
	topic string
	to    chan<- string
}

type message struct{ topic, text string }

type broker struct {
	subscribe chan subscription
	publish   chan message
	stop      chan struct{}
}

func (b *broker) run() {
	topics := map[string][]chan<- string{}
	for {
		select {
		case s := <-b.subscribe:
			topics[s.topic] = append(topics[s.topic], s.to)
		case m := <-b.publish:
			for _, to := range topics[m.topic] {
				to <- m.text
			}
		case <-b.stop:
			for _, all := range topics {
				for _, to := range all {
					close(to)
				}
			}
			return
		}
	}
}

func main() {
	b := &broker{make(chan subscription), make(chan message), make(chan struct{})}
	go b.run()

	var readers sync.WaitGroup
	var mu sync.Mutex
	var lines []string
	for _, who := range []struct{ name, topic string }{{"ada", "news"}, {"bob", "news"}, {"cleo", "sport"}, {"dan", "none"}} {
		inbox := make(chan string)
		b.subscribe <- subscription{who.topic, inbox}
		readers.Go(func() {
			var got []string
			for text := range inbox {
				got = append(got, text)
			}
			mu.Lock()
			lines = append(lines, fmt.Sprintf("%s got %d: %s", who.name, len(got), strings.Join(got, ", ")))
			mu.Unlock()
		})
	}
	for i := range 6 {
		b.publish <- message{"news", fmt.Sprint("headline ", i)}
		if i%3 == 0 {
			b.publish <- message{"sport", fmt.Sprint("goal ", i)}
		}
		b.publish <- message{"weather", "nobody listens"}
	}
	b.stop <- struct{}{}
	readers.Wait()
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}
E
rs pubsub "$D" <<'E'
extern crate alloc;
use alloc::collections::BTreeMap;
use ringo::prelude::*;
ringo::main!(main);

struct Subscription {
    topic: &'static str,
    to: Sender<String>,
}

struct Message {
    topic: &'static str,
    text: String,
}

/// Ends when nobody can publish any more; the senders that it owns close what they sent to.
fn broker(subscribe: Receiver<Subscription>, publish: Receiver<Message>) {
    let mut topics: BTreeMap<&str, Vec<Sender<String>>> = BTreeMap::new();
    loop {
        select! {
            recv(subscribe) -> s => {
                if let Some(Subscription { topic, to }) = s {
                    topics.entry(topic).or_default().push(to);
                }
            }
            recv(publish) -> m => {
                let Some(Message { topic, text }) = m else { return };
                for to in topics.get(topic).into_iter().flatten() {
                    to.send(text.clone()).unwrap();
                }
            }
        }
    }
}

fn main() {
    let ((subscribe, subscriptions), (publish, messages)) = (chan(0), chan(0));
    go(move || broker(subscriptions, messages));

    let mut readers = vec![];
    for (name, topic) in [("ada", "news"), ("bob", "news"), ("cleo", "sport"), ("dan", "none")] {
        let (to, inbox) = chan(0);
        subscribe.send(Subscription { topic, to }).unwrap();
        readers.push(spawn(move || {
            let got: Vec<String> = inbox.iter().collect();
            format!("{name} got {}: {}", got.len(), got.join(", "))
        }));
    }
    let publish_to = |topic, text| publish.send(Message { topic, text }).unwrap();
    for i in 0..6 {
        publish_to("news", format!("headline {i}"));
        if i % 3 == 0 {
            publish_to("sport", format!("goal {i}"));
        }
        publish_to("weather", "nobody listens".into());
    }
    drop(publish);
    for reader in readers {
        println!("{}", reader.join());
    }
}
E

# ---------------------------------------------------------------- pipeline_cancel
D="A pipeline without end, of three stages, until its reader has had enough."
go pipeline_cancel "$D" <<'E'
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
E
rs pipeline_cancel "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

fn stage<T: Send + 'static, U: Send + 'static>(
    ctx: &Context,
    wg: &WaitGroup,
    input: Receiver<T>,
    f: impl Fn(T) -> Option<U> + Send + 'static,
) -> Receiver<U> {
    let (out, rx) = chan(0);
    let done = ctx.done();
    wg.go(move || {
        for u in input.iter().filter_map(f) {
            select! {
                send(out, u) -> r => if r.is_err() { return },
                recv(done) -> _over => return,
            }
        }
    });
    rx
}

fn naturals(ctx: &Context, wg: &WaitGroup) -> Receiver<u32> {
    let (out, rx) = chan(0);
    let done = ctx.done();
    wg.go(move || {
        for n in 0.. {
            select! {
                send(out, n) -> r => if r.is_err() { return },
                recv(done) -> _over => return,
            }
        }
    });
    rx
}

fn show(error: Option<ContextError>) -> String {
    error.map_or("<nil>".into(), |e| e.to_string())
}

fn main() {
    let (ctx, cancel) = Context::background().with_cancel();
    let stages = WaitGroup::new();
    let squares = stage(&ctx, &stages, naturals(&ctx, &stages), |n| Some(n * n));
    let odd = stage(&ctx, &stages, squares, |n| (n % 2 == 1).then_some(n));
    let lines = stage(&ctx, &stages, odd, |n| Some(format!("square {n}")));
    for _ in 0..6 {
        println!("{}", lines.recv().unwrap());
    }
    println!("before: {}", show(ctx.err()));
    cancel.cancel();
    stages.wait();
    println!("after: {}", show(ctx.err()));
}
E
