rs() { { echo "//! $2"; printf '#![no_std]\n#![no_main]\n'; cat; } > "$1.rs"; }
go() { { echo "// $2"; printf 'package main\n\n'; cat; } > "$1.go"; }

# ---------------------------------------------------------------- first_of
D="One channel that closes when the first of many does, by a tree of selects that leaves nobody behind."
go first_of "$D" <<'E'
import "fmt"

type signal <-chan struct{}

// firstOf gives up when stop closes.
func firstOf(stop signal, channels []signal) signal {
	if len(channels) == 1 {
		return channels[0]
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		middle := len(channels) / 2
		select {
		case <-firstOf(done, channels[:middle]):
		case <-firstOf(done, channels[middle:]):
		case <-stop:
		}
	}()
	return done
}

func main() {
	for _, chosen := range []int{0, 13, 31} {
		var signals []signal
		var closers []chan struct{}
		for range 32 {
			c := make(chan struct{})
			signals, closers = append(signals, c), append(closers, c)
		}
		first := firstOf(nil, signals)
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

type Signal = Receiver<()>;

/// Gives up when `stop` closes.
fn first_of(stop: Signal, channels: &[Signal]) -> Signal {
    if let [only] = channels {
        return only.clone();
    }
    let (closes, done) = chan(0);
    let (channels, ours) = (channels.to_vec(), done.clone());
    go(move || {
        let _closes = closes;
        let (left, right) = channels.split_at(channels.len() / 2);
        select! {
            recv(first_of(ours.clone(), left)) -> _closed => {}
            recv(first_of(ours, right)) -> _closed => {}
            recv(stop) -> _closed => {}
        }
    });
    done
}

fn main() {
    for chosen in [0, 13, 31] {
        let (closers, signals): (Vec<_>, Vec<_>) = (0..32).map(|_| chan(0)).unzip();
        let first = first_of(never(), &signals);
        if first.is_closed() {
            println!("too early");
        }
        closers[chosen].close();
        first.recv();
        println!("number {chosen} was enough");
    }
}
E

# ---------------------------------------------------------------- hamming
D="Hamming's numbers, 2^a 3^b 5^c in order: a network of goroutines that feeds itself."
go hamming "$D" <<'E'
import "fmt"

const wanted, room = 40, 100

func times(factor int, in <-chan int) <-chan int {
	out := make(chan int, room)
	go func() {
		defer close(out)
		for n := range in {
			out <- factor * n
		}
	}()
	return out
}

// merge puts two rising streams into one, without what is in both.
func merge(a, b <-chan int) <-chan int {
	out := make(chan int, room)
	go func() {
		defer close(out)
		x, okX := <-a
		y, okY := <-b
		for okX && okY {
			least := min(x, y)
			out <- least
			if x == least {
				x, okX = <-a
			}
			if y == least {
				y, okY = <-b
			}
		}
	}()
	return out
}

func main() {
	var loops [3]chan int
	for i := range loops {
		loops[i] = make(chan int, room)
	}
	next := merge(times(2, loops[0]), merge(times(3, loops[1]), times(5, loops[2])))
	n := 1
	for range wanted {
		fmt.Println(n)
		for _, loop := range loops {
			loop <- n
		}
		n = <-next
	}
	for _, loop := range loops {
		close(loop)
	}
}
E
rs hamming "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const WANTED: usize = 40;
const ROOM: usize = 100;

fn times(factor: u32, input: Receiver<u32>) -> Receiver<u32> {
    let (out, rx) = chan(ROOM);
    go(move || input.iter().all(|n| out.send(factor * n).is_ok()).then_some(()).unwrap_or(()));
    rx
}

/// Puts two rising streams into one, without what is in both.
fn merge(a: Receiver<u32>, b: Receiver<u32>) -> Receiver<u32> {
    let (out, rx) = chan(ROOM);
    go(move || {
        let (mut next_a, mut next_b) = (a.recv(), b.recv());
        while let (Some(x), Some(y)) = (next_a, next_b) {
            if out.send(x.min(y)).is_err() {
                return;
            }
            if x <= y {
                next_a = a.recv();
            }
            if y <= x {
                next_b = b.recv();
            }
        }
    });
    rx
}

fn main() {
    let ((to2, by2), (to3, by3), (to5, by5)) = (chan(ROOM), chan(ROOM), chan(ROOM));
    let next = merge(times(2, by2), merge(times(3, by3), times(5, by5)));
    let mut n = 1;
    for _ in 0..WANTED {
        println!("{n}");
        for to in [&to2, &to3, &to5] {
            to.send(n).unwrap();
        }
        n = next.recv().unwrap();
    }
}
E

# ---------------------------------------------------------------- smokers
D="Cigarette smokers: an agent lays out two of three things, who has the third one smokes."
go smokers "$D" <<'E'
import "fmt"

type semaphore chan struct{}

func (s semaphore) acquire() { <-s }
func (s semaphore) release() { s <- struct{}{} }

func main() {
	names := [3]string{"tobacco", "paper", "matches"}
	table := make(semaphore, 1)
	var turn [3]semaphore
	over := make(chan int)
	var smoked [3]int
	var order []string
	stop := false
	for i := range turn {
		turn[i] = make(semaphore, 1)
		go func() {
			for {
				turn[i].acquire()
				if stop {
					over <- i
					return
				}
				smoked[i]++
				order = append(order, names[i][:1])
				table.release()
			}
		}()
	}
	seed := uint32(7)
	for range 30 {
		seed = seed*1664525 + 1013904223
		turn[seed>>16%3].release()
		table.acquire()
	}
	stop = true
	for i := range turn {
		turn[i].release()
	}
	<-over
	<-over
	<-over
	for i, name := range names {
		fmt.Println("who has", name, "smoked", smoked[i], "times")
	}
	for _, letter := range order {
		fmt.Print(letter)
	}
	fmt.Println()
}
E
rs smokers "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const NAMES: [&str; 3] = ["tobacco", "paper", "matches"];

static TABLE: Semaphore = Semaphore::new(0);
static TURN: [Semaphore; 3] = [const { Semaphore::new(0) }; 3];
static ORDER: Mutex<String> = Mutex::new(String::new());
static STOP: Once = Once::new();

fn smoker(me: usize) -> u32 {
    for smoked in 0.. {
        TURN[me].acquire();
        if STOP.is_completed() {
            return smoked;
        }
        ORDER.lock().push_str(&NAMES[me][..1]);
        TABLE.release();
    }
    unreachable!()
}

fn main() {
    let smokers = [0, 1, 2].map(|me| spawn(move || smoker(me)));
    let mut seed = 7u32;
    for _ in 0..30 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        TURN[seed as usize / 65536 % 3].release();
        TABLE.acquire();
    }
    STOP.call_once(|| TURN.iter().for_each(Semaphore::release));
    for (name, smoker) in NAMES.iter().zip(smokers) {
        println!("who has {name} smoked {} times", smoker.join());
    }
    println!("{}", ORDER.lock());
}
E

# ---------------------------------------------------------------- conway
D="Conway's problem: cards become lines of another width, pairs of asterisks become carets (after Hoare)."
go conway "$D" <<'E'
import "fmt"

const width = 20

func disassemble(cards []string, out chan<- byte) {
	for _, card := range cards {
		for _, c := range []byte(card) {
			out <- c
		}
		out <- ' '
	}
	close(out)
}

func squash(in <-chan byte, out chan<- byte) {
	defer close(out)
	for c := range in {
		if c != '*' {
			out <- c
			continue
		}
		switch next, ok := <-in; {
		case !ok:
			out <- c
		case next == '*':
			out <- '^'
		default:
			out <- c
			out <- next
		}
	}
}

func assemble(in <-chan byte, out chan<- string) {
	defer close(out)
	line := make([]byte, 0, width)
	for c := range in {
		line = append(line, c)
		if len(line) == width {
			out <- string(line)
			line = line[:0]
		}
	}
	if len(line) > 0 {
		for len(line) < width {
			line = append(line, '.')
		}
		out <- string(line)
	}
}

func main() {
	cards := []string{
		"x**2 + y**2 = z**2",
		"has answers in whole numbers,",
		"but z***3 * 2 is odd:",
		"who reads it as z**(*3) is lost *",
	}
	bytes, squashed, lines := make(chan byte), make(chan byte), make(chan string)
	go disassemble(cards, bytes)
	go squash(bytes, squashed)
	go assemble(squashed, lines)
	for line := range lines {
		fmt.Printf("|%s|\n", line)
	}
}
E
rs conway "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const WIDTH: usize = 20;

fn disassemble(cards: &[&str], out: Sender<char>) {
    for card in cards {
        card.chars().chain([' ']).for_each(|c| out.send(c).unwrap());
    }
}

fn squash(input: Receiver<char>, out: Sender<char>) {
    let put = |c| out.send(c).unwrap();
    for c in &input {
        if c != '*' {
            put(c);
            continue;
        }
        match input.recv() {
            None => put(c),
            Some('*') => put('^'),
            Some(next) => {
                put(c);
                put(next);
            }
        }
    }
}

fn assemble(input: Receiver<char>, out: Sender<String>) {
    let mut line = String::new();
    for c in &input {
        line.push(c);
        if line.len() == WIDTH {
            out.send(core::mem::take(&mut line)).unwrap();
        }
    }
    if !line.is_empty() {
        out.send(format!("{line:.<WIDTH$}")).unwrap();
    }
}

fn main() {
    let cards = [
        "x**2 + y**2 = z**2",
        "has answers in whole numbers,",
        "but z***3 * 2 is odd:",
        "who reads it as z**(*3) is lost *",
    ];
    let ((tx1, chars), (tx2, squashed), (tx3, lines)) = (chan(0), chan(0), chan(0));
    go(move || disassemble(&cards, tx1));
    go(move || squash(chars, tx2));
    go(move || assemble(squashed, tx3));
    for line in &lines {
        println!("|{line}|");
    }
}
E

# ---------------------------------------------------------------- queens
D="Queens that do not attack each other: a goroutine for each place of the first two."
go queens "$D" <<'E'
import (
	"fmt"
	"sync"
)

// count tells how many ways there are to go on; the masks say what is attacked.
func count(n, row int, columns, left, right uint) int {
	if row == n {
		return 1
	}
	ways := make([]int, n)
	var places sync.WaitGroup
	for column := range n {
		bit := uint(1) << column
		if (columns|left|right)&bit != 0 {
			continue
		}
		next := func() {
			ways[column] = count(n, row+1, columns|bit, (left|bit)<<1, (right|bit)>>1)
		}
		if row < 2 {
			places.Go(next)
		} else {
			next()
		}
	}
	places.Wait()
	sum := 0
	for _, w := range ways {
		sum += w
	}
	return sum
}

func main() {
	for n := 1; n <= 8; n++ {
		fmt.Println(n, "queens:", count(n, 0, 0, 0, 0))
	}
}
E
rs queens "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

/// In how many ways one can go on; the masks say what is attacked.
fn count(n: usize, row: usize, columns: u32, left: u32, right: u32) -> u32 {
    if row == n {
        return 1;
    }
    let mut ways = [0; 8];
    scope(|places| {
        for (column, ways) in ways[..n].iter_mut().enumerate() {
            let bit = 1 << column;
            if (columns | left | right) & bit != 0 {
                continue;
            }
            let mut next = move || {
                *ways = count(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
            };
            if row < 2 {
                places.go(next);
            } else {
                next();
            }
        }
    });
    ways.iter().sum()
}

fn main() {
    for n in 1..=8 {
        println!("{n} queens: {}", count(n, 0, 0, 0, 0));
    }
}
E

# ---------------------------------------------------------------- debounce
D="Bursts of events become one each: a timer that every event sets anew."
go debounce "$D" <<'E'
import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func debounce(in <-chan int, quiet time.Duration) <-chan [2]int {
	out := make(chan [2]int)
	go func() {
		defer close(out)
		timer := time.NewTimer(quiet)
		timer.Stop()
		last, count := 0, 0
		for {
			select {
			case event, ok := <-in:
				if !ok {
					if timer.Stop() {
						out <- [2]int{last, count}
					}
					return
				}
				last = event
				count++
				timer.Reset(quiet)
			case <-timer.C:
				out <- [2]int{last, count}
				count = 0
			}
		}
	}()
	return out
}

func main() {
	events := make(chan int)
	go func() {
		defer close(events)
		event := 0
		for _, burst := range []int{5, 1, 3, 4} {
			for range burst {
				event++
				events <- event
				time.Sleep(10 * ms)
			}
			if burst != 4 {
				time.Sleep(70 * ms)
			}
		}
	}()
	for burst := range debounce(events, 40*ms) {
		fmt.Println("event", burst[0], "stands for", burst[1])
	}
}
E
rs debounce "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[derive(Clone, Copy, Default)]
struct Burst {
    last: u32,
    count: u32,
}

fn debounce(input: Receiver<u32>, quiet: Duration, out: Sender<Burst>) {
    let timer = Timer::new(quiet);
    timer.stop();
    let mut burst = Burst::default();
    loop {
        select! {
            recv(input) -> event => {
                let Some(event) = event else {
                    if timer.stop() {
                        out.send(burst).unwrap();
                    }
                    return;
                };
                burst.last = event;
                burst.count += 1;
                timer.reset(quiet);
            }
            recv(timer.receiver()) -> _now => {
                out.send(burst).unwrap();
                burst.count = 0;
            }
        }
    }
}

fn main() {
    let ((tx, events), (out, bursts)) = (chan(0), chan(0));
    go(move || debounce(events, ms(40), out));
    go(move || {
        let mut numbers = 1..;
        for burst in [5, 1, 3, 4] {
            for event in numbers.by_ref().take(burst) {
                tx.send(event).unwrap();
                sleep(ms(10));
            }
            if burst != 4 {
                sleep(ms(70));
            }
        }
    });
    for Burst { last, count } in &bursts {
        println!("event {last} stands for {count}");
    }
}
E

# ---------------------------------------------------------------- errgroup
D="The first error stops all others, and is what the group answers."
go errgroup "$D" <<'E'
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
E
rs errgroup "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

/// Goroutines of one task, a context that they share, and what ends it.
struct Group<C> {
    wg: WaitGroup,
    ctx: Context,
    cancel: C,
}

fn group() -> Group<impl Fn(String) + Clone + Send + 'static> {
    let (ctx, cancel) = Context::background().with_cancel();
    Group {
        wg: WaitGroup::new(),
        ctx,
        cancel: move |error| cancel.cancel_cause(error),
    }
}

impl<C: Fn(String) + Clone + Send + 'static> Group<C> {
    fn run(&self, task: impl FnOnce(Context) -> Result<(), String> + Send + 'static) {
        let (ctx, cancel) = (self.ctx.clone(), self.cancel.clone());
        self.wg.go(move || {
            if let Err(error) = task(ctx) {
                cancel(error); // only the first counts
            }
        });
    }

    fn wait(&self) -> Result<(), String> {
        self.wg.wait();
        self.ctx.cause().map_or(Ok(()), |cause| Err(cause.to_string()))
    }
}

fn main() {
    let g = group();
    let (tx, done) = chan(8);
    for id in 0..8 {
        let tx = tx.clone();
        g.run(move |_ctx| tx.send(id).map_err(|_| "nobody listens".into()));
    }
    let answer = g.wait().map_or_else(|e| e, |()| "<nil>".into());
    println!("all well: {answer} {}", done.len());

    let g = group();
    let (tx, stopped) = chan(8);
    for id in 0..8 {
        let tx = tx.clone();
        g.run(move |ctx| {
            if id == 3 {
                return Err(format!("task {id}: no such file"));
            }
            ctx.done().recv();
            tx.send(ctx.err()).unwrap();
            Err("stopped".into())
        });
    }
    drop(tx);
    println!("failed: {}", g.wait().unwrap_err());
    for error in stopped.iter().flatten() {
        println!("another: {error}");
    }
}
E

# ---------------------------------------------------------------- unbounded
D="A channel without a limit: a goroutine with a queue between two unbuffered ones."
go unbounded "$D" <<'E'
import "fmt"

func unbounded(in <-chan int, out chan<- int) {
	defer close(out)
	var queue []int
	for in != nil || len(queue) > 0 {
		var to chan<- int // nil while there is nothing to send
		first := 0
		if len(queue) > 0 {
			to, first = out, queue[0]
		}
		select {
		case v, ok := <-in:
			if ok {
				queue = append(queue, v)
			} else {
				in = nil
			}
		case to <- first:
			queue = queue[1:]
		}
	}
}

func main() {
	in, out := make(chan int), make(chan int)
	go unbounded(in, out)
	for i := range 1000 {
		in <- i // nobody receives yet
	}
	fmt.Println("all are in")
	sum, ordered := 0, true
	for i := range 500 {
		v := <-out
		sum, ordered = sum+v, ordered && v == i
	}
	fmt.Println("half:", sum, ordered)
	in <- 1000
	close(in)
	count := 0
	for v := range out {
		sum, ordered = sum+v, ordered && v == 500+count
		count++
	}
	fmt.Println("rest:", count, sum, ordered)
}
E
rs unbounded "$D" <<'E'
extern crate alloc;
use alloc::collections::VecDeque;
use ringo::prelude::*;
ringo::main!(main);

fn unbounded(input: Receiver<u32>, out: Sender<u32>) {
    let mut queue = VecDeque::new();
    loop {
        let Some(first) = queue.front() else {
            match input.recv() {
                Some(v) => queue.push_back(v),
                None => return,
            }
            continue;
        };
        select! {
            recv(input) -> v => match v {
                Some(v) => queue.push_back(v),
                None => break,
            },
            send(out, *first) -> r => {
                r.unwrap();
                queue.pop_front();
            }
        }
    }
    for v in queue {
        out.send(v).unwrap();
    }
}

fn main() {
    let ((tx, input), (out, rx)) = (chan(0), chan(0));
    go(move || unbounded(input, out));
    for i in 0..1000 {
        tx.send(i).unwrap(); // nobody receives yet
    }
    println!("all are in");
    let (mut sum, mut ordered) = (0, true);
    for i in 0..500 {
        let v = rx.recv().unwrap();
        sum += v;
        ordered &= v == i;
    }
    println!("half: {sum} {ordered}");
    tx.send(1000).unwrap();
    drop(tx);
    let mut count = 0;
    for v in &rx {
        sum += v;
        ordered &= v == 500 + count;
        count += 1;
    }
    println!("rest: {count} {sum} {ordered}");
}
E

# ---------------------------------------------------------------- goexit
D="A closed channel as a starting gun, and goroutines that end in the middle of what they do."
go goexit "$D" <<'E'
import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

func main() {
	gate := make(chan struct{})
	var started, returned atomic.Int64
	var runners sync.WaitGroup
	for number := range 100 {
		runners.Go(func() {
			<-gate
			started.Add(1)
			if number%3 == 0 {
				runtime.Goexit()
			}
			returned.Add(1)
		})
	}
	for range 1000 {
		runtime.Gosched()
	}
	fmt.Println("before the shot:", started.Load())
	close(gate)
	runners.Wait()
	fmt.Println("started", started.Load(), "- returned", returned.Load())
	v, ok := <-gate
	fmt.Println("the gate stays open:", v, ok)
}
E
rs goexit "$D" <<'E'
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

static STARTED: AtomicU32 = AtomicU32::new(0);
static RETURNED: AtomicU32 = AtomicU32::new(0);

fn run(number: u32) {
    STARTED.fetch_add(1, SeqCst);
    if number % 3 == 0 {
        goexit();
    }
    RETURNED.fetch_add(1, SeqCst);
}

fn main() {
    let (shot, gate) = chan::<()>(0);
    let runners = WaitGroup::new();
    for number in 0..100 {
        let gate = gate.clone();
        runners.go(move || {
            gate.recv();
            drop(gate); // goexit would not
            run(number);
        });
    }
    for _ in 0..1000 {
        yield_now();
    }
    println!("before the shot: {}", STARTED.load(SeqCst));
    shot.close();
    runners.wait();
    println!("started {} - returned {}", STARTED.load(SeqCst), RETURNED.load(SeqCst));
    let v = gate.recv();
    println!("the gate stays open: {} {}", "{}", v.is_some());
}
E

# ---------------------------------------------------------------- priority
D="What is urgent goes first: a select with default before the select that waits."
go priority "$D" <<'E'
import "fmt"

func serve(urgent, normal <-chan string, out chan<- string) {
	defer close(out)
	for urgent != nil || normal != nil {
		select {
		case job, ok := <-urgent:
			if ok {
				out <- job
				continue
			}
			urgent = nil
		default:
		}
		select {
		case job, ok := <-urgent:
			if ok {
				out <- job
			} else {
				urgent = nil
			}
		case job, ok := <-normal:
			if ok {
				out <- job
			} else {
				normal = nil
			}
		}
	}
}

func main() {
	urgent, normal, out := make(chan string, 10), make(chan string, 10), make(chan string)
	for i := range 4 {
		normal <- fmt.Sprint("normal ", i)
		urgent <- fmt.Sprint("urgent ", i)
	}
	go serve(urgent, normal, out)
	for range 4 {
		fmt.Println(<-out)
	}
	close(urgent)
	for i := 4; i < 6; i++ {
		normal <- fmt.Sprint("normal ", i)
	}
	close(normal)
	for job := range out {
		fmt.Println(job)
	}
}
E
rs priority "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

type Jobs = Receiver<String>;

/// The next job; a channel that is closed and drained is switched off.
fn next(urgent: &mut Jobs, normal: &mut Jobs) -> Option<String> {
    match urgent.try_recv() {
        Ok(job) => return Some(job),
        Err(TryRecvError::Closed) => *urgent = never(),
        Err(TryRecvError::Empty) => {}
    }
    let (job, channel) = select! {
        recv(urgent) -> job => (job, urgent),
        recv(normal) -> job => (job, normal),
    };
    if job.is_none() {
        *channel = never();
    }
    job
}

fn serve(mut urgent: Jobs, mut normal: Jobs, out: Sender<String>) {
    let mut open = 2;
    while open > 0 {
        match next(&mut urgent, &mut normal) {
            Some(job) => out.send(job).unwrap(),
            None => open -= 1,
        }
    }
}

fn main() {}
E

# ---------------------------------------------------------------- traffic_light
D="A traffic light: one ticker with a new period for each colour, and a button."
go traffic_light "$D" <<'E'
import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func main() {
	phases := []struct {
		colour string
		length time.Duration
	}{{"green", 80 * ms}, {"yellow", 20 * ms}, {"red", 60 * ms}}

	button := make(chan string)
	go func() {
		time.Sleep(130 * ms)
		button <- "somebody pressed the button"
	}()
	begin := time.Now()
	now := func() time.Duration { return time.Since(begin).Truncate(10 * ms) }
	ticker := time.NewTicker(phases[0].length)
	fmt.Println(phases[0].colour)
	for phase := 0; phase < 6; {
		select {
		case <-ticker.C:
			phase++
			next := phases[phase%3]
			ticker.Reset(next.length)
			fmt.Println(now(), next.colour)
		case text := <-button:
			fmt.Println(now(), text)
		}
	}
	ticker.Stop()
}
E
rs traffic_light "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const PHASES: [(&str, u64); 3] = [("green", 80), ("yellow", 20), ("red", 60)];

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn main() {
    let (press, button) = chan(0);
    go(move || {
        sleep(ms(130));
        press.send("somebody pressed the button").unwrap();
    });
    let mut button = button;
    let begin = Instant::now();
    let now = || ms(begin.elapsed().as_millis() as u64 / 10 * 10);
    let ticker = Ticker::new(ms(PHASES[0].1));
    println!("{}", PHASES[0].0);
    let mut phase = 0;
    while phase < 6 {
        select! {
            recv(ticker.receiver()) -> _tick => {
                phase += 1;
                let (colour, length_ms) = PHASES[phase % 3];
                ticker.reset(ms(length_ms));
                println!("{:?} {colour}", now());
            }
            recv(button) -> text => match text {
                Some(text) => println!("{:?} {text}", now()),
                None => button = never(), // it can be pressed once
            },
        }
    }
}
E

# ---------------------------------------------------------------- retry
D="Tries with growing pauses between them, until one succeeds or the deadline comes."
go retry "$D" <<'E'
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
E
rs retry "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Gives up when the context ends: the error, and the number of tries.
fn retry(
    ctx: &Context,
    attempt: impl Fn(u32) -> Result<(), &'static str>,
) -> Result<(), (ContextError, u32)> {
    let (mut pause, done) = (ms(10), ctx.done());
    for n in 1.. {
        let Err(error) = attempt(n) else { break };
        println!("try {n}: {error}, next in {pause:?}");
        select! {
            recv(done) -> _over => return Err((ctx.err().unwrap(), n)),
            default(pause) => pause *= 2,
        }
    }
    Ok(())
}

fn main() {
    for free in [3, 100] {
        let (ctx, _cancel) = Context::background().with_timeout(ms(100));
        let begin = Instant::now();
        let answer = retry(&ctx, |n| if n < free { Err("busy") } else { Ok(()) });
        let text = match &answer {
            Ok(()) => "<nil>".into(),
            Err((error, n)) => format!("given up after {n} tries: {error}"),
        };
        let late = matches!(answer, Err((ContextError::DeadlineExceeded, _)));
        println!("after {:?} {text} {late}", ms(begin.elapsed().as_millis() as u64 / 10 * 10));
    }
}
E

# ---------------------------------------------------------------- sorting_network
D="A sorting network: each comparator is a goroutine between two wires, batches flow through one after the other."
go sorting_network "$D" <<'E'
import (
	"fmt"
	"strings"
)

const wires, batches = 8, 5

func comparator(a, b <-chan int) (low, high chan int) {
	low, high = make(chan int), make(chan int)
	go func() {
		defer close(low)
		defer close(high)
		for x := range a {
			y := <-b
			low <- min(x, y)
			high <- max(x, y)
		}
	}()
	return low, high
}

func main() {
	var in, wire [wires]chan int
	for i := range in {
		in[i] = make(chan int)
	}
	wire = in
	comparators := 0
	for round := range wires {
		for i := round % 2; i+1 < wires; i += 2 {
			wire[i], wire[i+1] = comparator(wire[i], wire[i+1])
			comparators++
		}
	}
	fmt.Println(comparators, "comparators")
	seed := uint32(3)
	var numbers [batches][wires]int
	for b := range batches {
		for i := range wires {
			seed = seed*1664525 + 1013904223
			numbers[b][i] = int(seed>>16) % 100
		}
	}
	for i, to := range in {
		go func() {
			defer close(to)
			for b := range batches {
				to <- numbers[b][i]
			}
		}()
	}
	for range batches {
		var line []string
		for _, from := range wire {
			line = append(line, fmt.Sprint(<-from))
		}
		fmt.Println(strings.Join(line, " "))
	}
}
E
rs sorting_network "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const WIRES: usize = 8;
const BATCHES: usize = 5;

type Wire = Receiver<u32>;

fn comparator(a: Wire, b: Wire) -> (Wire, Wire) {
    let ((low, below), (high, above)) = (chan(0), chan(0));
    go(move || {
        for (x, y) in a.iter().zip(&b) {
            low.send(x.min(y)).unwrap();
            high.send(x.max(y)).unwrap();
        }
    });
    (below, above)
}

fn main() {
    let (inputs, mut wires): (Vec<Sender<u32>>, Vec<Wire>) = (0..WIRES).map(|_| chan(0)).unzip();
    let mut comparators = 0;
    for round in 0..WIRES {
        for pair in wires[round % 2..].chunks_exact_mut(2) {
            let (low, high) = comparator(pair[0].clone(), pair[1].clone());
            (pair[0], pair[1]) = (low, high);
            comparators += 1;
        }
    }
    println!("{comparators} comparators");
    let mut seed = 3u32;
    let mut numbers = [[0; WIRES]; BATCHES];
    for number in numbers.as_flattened_mut() {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *number = (seed >> 16) % 100;
    }
    for (i, to) in inputs.into_iter().enumerate() {
        go(move || numbers.iter().for_each(|batch| to.send(batch[i]).unwrap()));
    }
    for _ in 0..BATCHES {
        let line: Vec<String> = wires.iter().map(|w| w.recv().unwrap().to_string()).collect();
        println!("{}", line.join(" "));
    }
}
E
