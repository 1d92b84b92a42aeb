rs() { { echo "//! $2"; printf '#![no_std]\n#![no_main]\n'; cat; } > "$1.rs"; }
go() { { echo "// $2"; printf 'package main\n\n'; cat; } > "$1.go"; }

# ---------------------------------------------------------------- same_tree
D="Two walkers compare binary trees in step, and stop at the first difference."
go same_tree "$D" <<'E'
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
E
rs same_tree "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

type Tree = Option<Box<Node>>;

struct Node {
    left: Tree,
    right: Tree,
    value: u32,
}

fn insert(tree: &mut Tree, value: u32) {
    match tree {
        None => *tree = Some(Box::new(Node { left: None, right: None, value })),
        Some(node) if value < node.value => insert(&mut node.left, value),
        Some(node) => insert(&mut node.right, value),
    }
}

/// Stops when nobody is left to receive.
fn walk(tree: &Tree, out: &Sender<u32>) -> Result<(), SendError<u32>> {
    let Some(node) = tree else { return Ok(()) };
    walk(&node.left, out)?;
    out.send(node.value)?;
    walk(&node.right, out)
}

fn values(tree: &Arc<Tree>) -> Receiver<u32> {
    let (out, rx) = chan(0);
    let tree = tree.clone();
    go(move || drop(walk(&tree, &out)));
    rx
}

/// Whether the trees hold the same values, and how many it looked at.
fn same(a: Arc<Tree>, b: Arc<Tree>) -> (bool, u32) {
    let (va, vb) = (values(&a), values(&b));
    for n in 0.. {
        match (va.recv(), vb.recv()) {
            (None, None) => return (true, n),
            (x, y) if x != y => return (false, n),
            _ => {}
        }
    }
    unreachable!()
}

fn build(n: u32, step: u32, extra: u32) -> Arc<Tree> {
    let mut tree = None;
    for i in 0..n {
        insert(&mut tree, i * step % n);
    }
    insert(&mut tree, extra);
    Arc::new(tree)
}

fn main() {
    let show = |(same, n): (bool, u32)| println!("{same} {n}");
    show(same(build(100, 7, 40), build(100, 33, 40)));
    show(same(build(100, 7, 40), build(100, 33, 41)));
    show(same(build(100, 7, 99), build(99, 2, 98)));
    show(same(Arc::new(None), Arc::new(None)));
}
E

# ---------------------------------------------------------------- single_flight
D="A cache that many ask at once: each key is computed once, all others wait for it."
go single_flight "$D" <<'E'
import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

type cache struct {
	mu       sync.Mutex
	entries  map[int]*entry
	computed atomic.Int64
}

type entry struct {
	once  sync.Once
	value int
}

func (c *cache) get(key int) int {
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		e = &entry{}
		c.entries[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() {
		c.computed.Add(1)
		for range 20 {
			runtime.Gosched() // slow work: the others come meanwhile
		}
		e.value = key * key
	})
	return e.value
}

func main() {
	c := &cache{entries: map[int]*entry{}}
	var askers sync.WaitGroup
	var sum atomic.Int64
	for asker := range 50 {
		askers.Go(func() {
			for i := range 10 {
				sum.Add(int64(c.get((asker + i) % 10)))
			}
		})
	}
	askers.Wait()
	fmt.Println("asked 500 times, computed", c.computed.Load(), "times, sum", sum.Load())
}
E
rs single_flight "$D" <<'E'
extern crate alloc;
use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::prelude::*;
ringo::main!(main);

#[derive(Default)]
struct Cache {
    entries: Mutex<BTreeMap<u64, Arc<OnceLock<u64>>>>,
    computed: AtomicU64,
}

impl Cache {
    fn get(&self, key: u64) -> u64 {
        let entry = self.entries.lock().entry(key).or_default().clone();
        *entry.get_or_init(|| {
            self.computed.fetch_add(1, Relaxed);
            for _ in 0..20 {
                yield_now(); // slow work: the others come meanwhile
            }
            key * key
        })
    }
}

fn main() {
    let (cache, sum) = (Cache::default(), AtomicU64::new(0));
    scope(|s| {
        let (cache, sum) = (&cache, &sum);
        for asker in 0..50 {
            s.go(move || {
                for i in 0..10 {
                    sum.fetch_add(cache.get((asker + i) % 10), Relaxed);
                }
            });
        }
    });
    let (computed, sum) = (cache.computed.into_inner(), sum.into_inner());
    println!("asked 500 times, computed {computed} times, sum {sum}");
}
E

# ---------------------------------------------------------------- barrier
D="A barrier of a mutex and a condition: nobody begins a phase before all have ended the last."
go barrier "$D" <<'E'
import (
	"fmt"
	"sync"
	"sync/atomic"
)

const workers, phases = 8, 5

type barrier struct {
	mu         sync.Mutex
	all        *sync.Cond
	here       int
	generation int
}

// wait returns true to one of those that waited.
func (b *barrier) wait() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.here++
	if b.here == workers {
		b.here = 0
		b.generation++
		b.all.Broadcast()
		return true
	}
	for g := b.generation; g == b.generation; {
		b.all.Wait()
	}
	return false
}

func main() {
	b := &barrier{}
	b.all = sync.NewCond(&b.mu)
	var done [phases]atomic.Int64
	var early atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for phase := range phases {
				done[phase].Add(1)
				last := b.wait()
				if done[phase].Load() != workers {
					early.Add(1)
				}
				if last {
					fmt.Println("phase", phase, "ended by", done[phase].Load())
				}
				b.wait()
			}
		})
	}
	group.Wait()
	fmt.Println("too early:", early.Load(), "- generations:", b.generation)
}
E
rs barrier "$D" <<'E'
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

const WORKERS: u32 = 8;
const PHASES: usize = 5;

#[derive(Default)]
struct State {
    here: u32,
    generation: u32,
}

#[derive(Default)]
struct Barrier {
    state: Mutex<State>,
    all: Cond,
}

impl Barrier {
    /// True to one of those that waited.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        state.here += 1;
        if state.here == WORKERS {
            state.here = 0;
            state.generation += 1;
            self.all.notify_all();
            return true;
        }
        let generation = state.generation;
        while state.generation == generation {
            state = self.all.wait(state);
        }
        false
    }
}

fn main() {
    let barrier = Barrier::default();
    let done: [AtomicU32; PHASES] = Default::default();
    let early = AtomicU32::new(0);
    scope(|s| {
        for _ in 0..WORKERS {
            s.go(|| {
                for (phase, done) in done.iter().enumerate() {
                    done.fetch_add(1, SeqCst);
                    let last = barrier.wait();
                    if done.load(SeqCst) != WORKERS {
                        early.fetch_add(1, SeqCst);
                    }
                    if last {
                        println!("phase {phase} ended by {}", done.load(SeqCst));
                    }
                    barrier.wait();
                }
            });
        }
    });
    let generations = barrier.state.into_inner().generation;
    println!("too early: {} - generations: {generations}", early.into_inner());
}
E

# ---------------------------------------------------------------- ping_pong
D="Two players and one ball: unbuffered channels make them take turns."
go ping_pong "$D" <<'E'
import "fmt"

func player(name string, table, other chan int, over chan<- string) {
	for hits := range table {
		fmt.Println(name, hits)
		if hits == 10 {
			close(other)
			over <- name + " won"
			return
		}
		other <- hits + 1
	}
	over <- name + " lost"
}

func main() {
	left, right, over := make(chan int), make(chan int), make(chan string)
	go player("ping", left, right, over)
	go player("pong", right, left, over)
	left <- 1
	a, b := <-over, <-over
	if a > b {
		a, b = b, a
	}
	fmt.Println(a, "-", b)
}
E
rs ping_pong "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

fn player(name: &str, table: Receiver<u32>, other: Sender<u32>) -> String {
    for hits in &table {
        println!("{name} {hits}");
        if hits == 10 {
            return format!("{name} won"); // closes the other's channel
        }
        other.send(hits + 1).unwrap();
    }
    format!("{name} lost")
}

fn main() {
    let ((to_ping, left), (to_pong, right)) = (chan(0), chan(0));
    let serve = to_ping.clone();
    let ping = spawn(move || player("ping", left, to_pong));
    let pong = spawn(move || player("pong", right, to_ping));
    serve.send(1).unwrap();
    drop(serve);
    println!("{} - {}", ping.join(), pong.join());
}
E

# ---------------------------------------------------------------- matrix
D="A product of matrices, a goroutine for each row."
go matrix "$D" <<'E'
import (
	"fmt"
	"sync"
)

const n = 24

type matrix [n][n]int

func product(a, b *matrix) *matrix {
	var c matrix
	var rows sync.WaitGroup
	for i := range n {
		rows.Go(func() {
			for j := range n {
				for k := range n {
					c[i][j] += a[i][k] * b[k][j]
				}
				c[i][j] %= 1009
			}
		})
	}
	rows.Wait()
	return &c
}

func main() {
	var a, power matrix
	for i := range n {
		power[i][i] = 1
		for j := range n {
			a[i][j] = (i*7 + j*3) % 10
		}
	}
	for exponent := 1; exponent <= 4; exponent++ {
		power = *product(&power, &a)
		trace := 0
		for i := range n {
			trace += power[i][i]
		}
		fmt.Println("power", exponent, "trace", trace, "corner", power[0][n-1])
	}
}
E
rs matrix "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const N: usize = 24;

type Matrix = [[u64; N]; N];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut c = [[0; N]; N];
    scope(|s| {
        for (row, out) in a.iter().zip(&mut c) {
            s.go(move || {
                for (j, cell) in out.iter_mut().enumerate() {
                    *cell = (0..N).map(|k| row[k] * b[k][j]).sum::<u64>() % 1009;
                }
            });
        }
    });
    c
}

fn main() {
    let (mut a, mut power) = ([[0; N]; N], [[0; N]; N]);
    for i in 0..N {
        power[i][i] = 1;
        for j in 0..N {
            a[i][j] = (i * 7 + j * 3) as u64 % 10;
        }
    }
    for exponent in 1..=4 {
        power = product(&power, &a);
        let trace: u64 = (0..N).map(|i| power[i][i]).sum();
        println!("power {exponent} trace {trace} corner {}", power[0][N - 1]);
    }
}
E

# ---------------------------------------------------------------- merge_sort
D="Merge sort: each half is sorted by a goroutine of its own, down to sixteen numbers."
go merge_sort "$D" <<'E'
import (
	"fmt"
	"slices"
)

func merge(a, b []uint32) []uint32 {
	all := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

func sorted(numbers []uint32) []uint32 {
	if len(numbers) <= 16 {
		numbers = slices.Clone(numbers)
		slices.Sort(numbers)
		return numbers
	}
	middle := len(numbers) / 2
	left := make(chan []uint32)
	go func() { left <- sorted(numbers[:middle]) }()
	right := sorted(numbers[middle:])
	return merge(<-left, right)
}

func main() {
	numbers := make([]uint32, 5000)
	seed := uint32(1)
	for i := range numbers {
		seed = seed*1664525 + 1013904223
		numbers[i] = seed >> 8
	}
	result := sorted(numbers)
	fmt.Println(len(result), slices.IsSorted(result))
	fmt.Println(result[0], result[1250], result[2500], result[3750], result[4999])
}
E
rs merge_sort "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

fn merge(mut a: &[u32], mut b: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    while let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_first(), b.split_first()) {
        if x <= y {
            all.push(*x);
            a = rest_a;
        } else {
            all.push(*y);
            b = rest_b;
        }
    }
    all.extend(a);
    all.extend(b);
    all
}

fn sorted(numbers: &[u32]) -> Vec<u32> {
    if numbers.len() <= 16 {
        let mut few = numbers.to_vec();
        few.sort();
        return few;
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    scope(|s| {
        let left = s.spawn(|| sorted(left));
        let right = sorted(right);
        merge(&left.join(), &right)
    })
}

fn main() {
    let mut seed = 1u32;
    let numbers: Vec<u32> = core::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    })
    .take(5000)
    .collect();
    let result = sorted(&numbers);
    println!("{} {}", result.len(), result.is_sorted());
    let at = |i: usize| result[i];
    println!("{} {} {} {} {}", at(0), at(1250), at(2500), at(3750), at(4999));
}
E

# ---------------------------------------------------------------- map_reduce
D="Counting words: mappers split lines, each word goes to the reducer that its letters choose."
go map_reduce "$D" <<'E'
import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const reducers = 3

var lines = []string{
	"one fish two fish red fish blue fish",
	"a big blue dog chased a red fox",
	"the fox and the dog and the fish",
	"two red dogs and one blue fox",
}

func bucket(word string) int {
	sum := 0
	for _, letter := range []byte(word) {
		sum += int(letter)
	}
	return sum % reducers
}

func reduce(words <-chan string, counts chan<- map[string]int) {
	count := map[string]int{}
	for word := range words {
		count[word]++
	}
	counts <- count
}

func main() {
	var words [reducers]chan string
	counts := make(chan map[string]int)
	for i := range words {
		words[i] = make(chan string, 4)
		go reduce(words[i], counts)
	}
	var mappers sync.WaitGroup
	for _, line := range lines {
		mappers.Go(func() {
			for _, word := range strings.Fields(line) {
				words[bucket(word)] <- word
			}
		})
	}
	mappers.Wait()
	for _, to := range words {
		close(to)
	}
	total := map[string]int{}
	for range words {
		maps.Copy(total, <-counts)
	}
	for _, word := range slices.Sorted(maps.Keys(total)) {
		fmt.Println(word, total[word])
	}
}
E
rs map_reduce "$D" <<'E'
extern crate alloc;
use alloc::collections::BTreeMap;
use ringo::prelude::*;
ringo::main!(main);

const REDUCERS: usize = 3;

const LINES: &[&str] = &[
    "one fish two fish red fish blue fish",
    "a big blue dog chased a red fox",
    "the fox and the dog and the fish",
    "two red dogs and one blue fox",
];

fn bucket(word: &str) -> usize {
    word.bytes().map(usize::from).sum::<usize>() % REDUCERS
}

fn reduce(words: Receiver<&'static str>) -> BTreeMap<&'static str, u32> {
    let mut count = BTreeMap::new();
    for word in &words {
        *count.entry(word).or_default() += 1;
    }
    count
}

fn main() {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..REDUCERS).map(|_| chan(4)).unzip();
    let counts: Vec<_> = receivers
        .into_iter()
        .map(|words| spawn(move || reduce(words)))
        .collect();
    for line in LINES {
        let words = senders.clone();
        go(move || {
            for word in line.split_whitespace() {
                words[bucket(word)].send(word).unwrap();
            }
        });
    }
    drop(senders); // the mappers' own are the last
    let total: BTreeMap<_, _> = counts.into_iter().flat_map(JoinHandle::join).collect();
    for (word, n) in total {
        println!("{word} {n}");
    }
}
E

# ---------------------------------------------------------------- heartbeat
D="A worker shows with a ticker that it lives; when it falls silent, a timer tells its watcher."
go heartbeat "$D" <<'E'
import (
	"fmt"
	"time"
)

const beat = 20 * time.Millisecond

func worker(beats chan<- int, results chan<- string) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	work := time.NewTimer(beat*5/2 + 1)
	for n := 1; n <= 4; {
		select {
		case <-ticker.C:
			beats <- n
			n++
		case <-work.C:
			results <- "a result"
		}
	}
	// It falls silent here, without a word.
}

func main() {
	beats, results := make(chan int), make(chan string)
	go worker(beats, results)
	silence := time.NewTimer(3 * beat)
	for {
		select {
		case n := <-beats:
			fmt.Println("beat", n, "- timer was running:", silence.Reset(3*beat))
		case r := <-results:
			fmt.Println("got", r)
		case <-silence.C:
			fmt.Println("silent for three beats: given up")
			fmt.Println("timer is running:", silence.Stop())
			return
		}
	}
}
E
rs heartbeat "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const BEAT: Duration = Duration::from_millis(20);

fn worker(beats: Sender<u32>, results: Sender<&'static str>, over: Receiver<()>) {
    let ticker = Ticker::new(BEAT);
    let work = Timer::new(BEAT * 5 / 2);
    let mut n = 1;
    while n <= 4 {
        select! {
            recv(ticker.receiver()) -> _tick => {
                beats.send(n).unwrap();
                n += 1;
            }
            recv(work.receiver()) -> _done => results.send("a result").unwrap(),
        }
    }
    ticker.stop();
    over.recv(); // it falls silent here, without a word
}

fn main() {
    let ((to, beats), (result, results), (_alive, over)) = (chan(0), chan(0), chan(0));
    go(move || worker(to, result, over));
    let silence = Timer::new(3 * BEAT);
    loop {
        select! {
            recv(beats) -> n => {
                let (n, was) = (n.unwrap(), silence.reset(3 * BEAT));
                println!("beat {n} - timer was running: {was}");
            }
            recv(results) -> r => println!("got {}", r.unwrap()),
            recv(silence.receiver()) -> _fired => {
                println!("silent for three beats: given up");
                println!("timer is running: {}", silence.stop());
                return;
            }
        }
    }
}
E

# ---------------------------------------------------------------- timeouts
D="Three servers of different speed, with a time limit for each answer and one for all of them."
go timeouts "$D" <<'E'
import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func ask(delay time.Duration) <-chan string {
	answer := make(chan string, 1) // whoever is late does not wait for ever
	go func() {
		time.Sleep(delay)
		answer <- fmt.Sprint("answer after ", delay)
	}()
	return answer
}

func main() {
	for _, delay := range []time.Duration{20 * ms, 60 * ms, 140 * ms} {
		select {
		case text := <-ask(delay):
			fmt.Println(text)
		case <-time.After(100 * ms):
			fmt.Println("no answer within", 100*ms)
		}
	}

	limit := time.After(110 * ms)
	fast, slow := ask(40*ms), ask(180*ms)
	ticker := time.NewTicker(30 * ms)
	defer ticker.Stop()
	for ticks := 0; ; {
		select {
		case text := <-fast:
			fmt.Println("fast:", text)
			fast = nil
		case text := <-slow:
			fmt.Println("slow:", text)
			slow = nil
		case <-ticker.C:
			ticks++
		case <-limit:
			fmt.Println("out of time after", ticks, "ticks")
			time.Sleep(100 * ms)
			fmt.Println("too late:", <-slow)
			return
		}
	}
}
E
rs timeouts "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ask(delay: Duration) -> Receiver<String> {
    let (tx, answer) = chan(1); // whoever is late does not wait for ever
    go(move || {
        sleep(delay);
        drop(tx.send(format!("answer after {delay:?}")));
    });
    answer
}

fn main() {
    for delay in [ms(20), ms(60), ms(140)] {
        select! {
            recv(ask(delay)) -> text => println!("{}", text.unwrap()),
            default(ms(100)) => println!("no answer within {:?}", ms(100)),
        }
    }

    let limit = after(ms(110));
    let (mut fast, mut slow) = (ask(ms(40)), ask(ms(180)));
    let ticker = Ticker::new(ms(30));
    let mut ticks = 0;
    loop {
        select! {
            recv(fast) -> text => {
                println!("fast: {}", text.unwrap());
                fast = never();
            }
            recv(slow) -> text => {
                println!("slow: {}", text.unwrap());
                slow = never();
            }
            recv(ticker.receiver()) -> _tick => ticks += 1,
            recv(limit) -> _now => {
                println!("out of time after {ticks} ticks");
                sleep(ms(100));
                println!("too late: {}", slow.recv().unwrap());
                return;
            }
        }
    }
}
E

# ---------------------------------------------------------------- context_tree
D="A tree of contexts: deadlines, causes, and who ends with whom."
go context_tree "$D" <<'E'
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
E
rs context_tree "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn show(name: &str, ctx: &Context) {
    let error = ctx.err().map_or("<nil>".into(), |e| e.to_string());
    let cause = ctx.cause().map_or("<nil>".into(), |c| c.to_string());
    println!("{name}: {error}, because: {cause}");
}

/// In steps of 20 ms.
fn since(begin: Instant) -> Duration {
    ms(begin.elapsed().as_millis() as u64 / 20 * 20)
}

fn main() {
    let begin = Instant::now();
    let (root, stop) = Context::background().with_cancel();
    let (short, _) = root.with_timeout(ms(40));
    let (long, _) = short.with_timeout(Duration::from_secs(3600)); // cut to its parent's
    let (named, _) = root.with_deadline_cause(begin + ms(80), "the shop closes");
    let apart = named.without_cancel();

    println!("root has a deadline: {}", root.deadline().is_some());
    println!("the inner deadline is the outer one: {}", long.deadline() == short.deadline());

    long.done().recv();
    println!("at {:?}", since(begin));
    show("long", &long);
    show("short", &short);
    show("root", &root);
    named.done().recv();
    println!("at {:?}", since(begin));
    show("named", &named);
    show("apart", &apart);

    let (leaf, cancel_leaf) = root.with_cancel();
    let (tx, ran) = chan(0);
    leaf.after_func(move || tx.send("after leaf").unwrap());
    let not_run = leaf.after_func(|| unreachable!());
    println!("stopped: {} {}", not_run.stop(), not_run.stop());
    stop.cancel_cause("the user left");
    println!("{}", ran.recv().unwrap());
    cancel_leaf.cancel(); // too late to matter
    show("leaf", &leaf);
    let (late, _) = root.with_cancel();
    show("late", &late);
    show("short", &short);
}
E

# ---------------------------------------------------------------- timers
D="What stop and reset of timers answer, and what comes on their channels."
go timers "$D" <<'E'
import (
	"fmt"
	"time"
)

const ms = time.Millisecond

func ready(t *time.Timer) bool {
	select {
	case <-t.C:
		return true
	default:
		return false
	}
}

func main() {
	t := time.NewTimer(20 * ms)
	fmt.Println("ready at once:", ready(t), "- length and room:", len(t.C), cap(t.C))
	fmt.Println("stop:", t.Stop(), t.Stop())
	time.Sleep(40 * ms)
	fmt.Println("fired after stop:", ready(t))

	fmt.Println("reset of a stopped one:", t.Reset(20*ms))
	fmt.Println("reset of a running one:", t.Reset(20*ms))
	<-t.C
	fmt.Println("reset of one that was received:", t.Reset(20*ms))
	time.Sleep(40 * ms)
	fmt.Println("stop of one that fired unseen:", t.Stop(), "- ready:", ready(t))

	order := make(chan int, 3)
	begin := time.Now()
	for _, n := range []int{3, 1, 2} {
		time.AfterFunc(time.Duration(n)*20*ms, func() { order <- n })
	}
	fmt.Println("order:", <-order, <-order, <-order)
	fmt.Println("took 60 ms:", time.Since(begin).Truncate(20*ms) == 60*ms)

	f := time.AfterFunc(20*ms, func() { order <- 9 })
	fmt.Println("function stopped:", f.Stop(), f.Reset(20*ms))
	fmt.Println("runs all the same:", <-order, "- stop:", f.Stop())

	ticker := time.NewTicker(20 * ms)
	time.Sleep(70 * ms) // three ticks, one is kept
	<-ticker.C
	select {
	case <-ticker.C:
		fmt.Println("a second tick at once")
	default:
		fmt.Println("missed ticks are lost")
	}
	ticker.Stop()
	select {
	case <-ticker.C:
		fmt.Println("it still ticks")
	case <-time.After(50 * ms):
		fmt.Println("silent")
	}
	ticker.Reset(20 * ms)
	<-ticker.C
	fmt.Println("and again")
}
E
rs timers "$D" <<'E'
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ready(t: &Timer) -> bool {
    t.receiver().try_recv().is_ok()
}

fn main() {
    let t = Timer::new(ms(20));
    let (now, c) = (ready(&t), t.receiver());
    println!("ready at once: {now} - length and room: {} {}", c.len(), c.capacity());
    println!("stop: {} {}", t.stop(), t.stop());
    sleep(ms(40));
    println!("fired after stop: {}", ready(&t));

    println!("reset of a stopped one: {}", t.reset(ms(20)));
    println!("reset of a running one: {}", t.reset(ms(20)));
    t.recv();
    println!("reset of one that was received: {}", t.reset(ms(20)));
    sleep(ms(40));
    println!("stop of one that fired unseen: {} - ready: {}", t.stop(), ready(&t));

    let (tx, order) = chan(3);
    let begin = Instant::now();
    for n in [3, 1, 2] {
        let tx = tx.clone();
        after_func(ms(20) * n, move || tx.send(n).unwrap());
    }
    let mut next = || order.recv().unwrap();
    println!("order: {} {} {}", next(), next(), next());
    println!("took 60 ms: {}", begin.elapsed().as_millis() / 20 == 3);

    let f = after_func(ms(20), move || tx.send(9).unwrap());
    println!("function stopped: {} {}", f.stop(), f.reset(ms(20)));
    println!("runs all the same: {} - stop: {}", next(), f.stop());

    let ticker = Ticker::new(ms(20));
    sleep(ms(70)); // three ticks, one is kept
    ticker.recv();
    select! {
        recv(ticker.receiver()) -> _tick => println!("a second tick at once"),
        default => println!("missed ticks are lost"),
    }
    ticker.stop();
    select! {
        recv(ticker.receiver()) -> _tick => println!("it still ticks"),
        default(ms(50)) => println!("silent"),
    }
    ticker.reset(ms(20));
    ticker.recv();
    println!("and again");
}
E
