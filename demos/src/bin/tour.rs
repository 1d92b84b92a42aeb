//! A walk through what works: each point is tried out, measured and checked. The default program.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::machine;
use ringo::prelude::*;
ringo::main!(main);

/// A point's figure, or why it failed.
type Outcome = Result<String, String>;
/// What is tried, and how.
type Point = (&'static str, fn() -> Outcome);

fn main() -> Result<(), String> {
    let begun = machine::since_start();
    let points: &[Point] = &[
        ("machine", about_the_machine),
        ("spawn and join", spawning),
        ("yield", yielding),
        ("ping-pong over channels", ping_pong),
        ("buffered channel", pipeline),
        ("close and drain", closing),
        ("select", selecting),
        ("mutex", mutual_exclusion),
        ("borrowing goroutines", scoped),
        ("prime sieve", sieve),
        ("stealing", stealing),
        ("preemption", preemption),
        ("sleepers", sleepers),
        ("deep stack", deep_stack),
        ("many goroutines", crowd),
        ("idle", idle),
    ];
    let machine = if machine::IS_HOST {
        "threads of the host"
    } else {
        "the bare machine"
    };
    println!("Ringo on {machine}: goroutines on every CPU.");
    println!(
        "{:>2}  {:<24} main began {begun:.1?} after the start",
        0, "boot"
    );
    let mut failed = 0;
    for (i, (name, point)) in points.iter().enumerate() {
        let figure = point().and_then(settled).unwrap_or_else(|why| {
            failed += 1;
            format!("FAILED: {why}")
        });
        println!("{:>2}  {name:<24} {figure}", i + 1);
    }
    println!(
        "{} of {} points hold; {:.1?} since the start",
        points.len() - failed,
        points.len(),
        machine::since_start()
    );
    if ringo::shell::is_wanted() {
        println!("A shell: help lists its commands, exit ends the machine.");
        ringo::shell::run()
    }
    if failed == 0 {
        Ok(())
    } else {
        Err(format!("{failed} of {} points failed", points.len()))
    }
}

/// Waits until main is the only goroutine again, so that one point does not disturb the next.
fn settled(figure: String) -> Outcome {
    let start = Instant::now();
    while num_goroutine() > 1 {
        check(start.elapsed() < Duration::from_secs(20), || {
            format!(
                "{figure}, but {} goroutines are still there 20 s later",
                num_goroutine() - 1
            )
        })?;
        sleep(Duration::from_micros(200));
    }
    Ok(figure)
}

fn check(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

/// What one of `n` took, in ns.
fn each(took: Duration, n: u64) -> u64 {
    took.as_nanos() as u64 / n
}

fn about_the_machine() -> Outcome {
    let (cpus, procs) = (num_cpu(), machine::procs());
    check((1..=cpus).contains(&procs), || {
        format!("{procs} Ps on {cpus} CPUs")
    })?;
    check(current().id() == 1, || {
        format!("main is goroutine {}", current().id())
    })?;
    let memory = match machine::free_bytes() {
        Some(free) => format!(", {} MiB free", free >> 20),
        None => String::new(),
    };
    Ok(format!(
        "{cpus} CPUs, {procs} Ps, clock {}{memory}",
        machine::clock_source()
    ))
}

fn spawning() -> Outcome {
    const N: u64 = 10_000;
    let before = num_goroutine();
    let start = Instant::now();
    let mut sum = 0;
    // In batches, as programs do; each spawn reuses the goroutine of one that has ended.
    for batch in 0..N / 100 {
        let hs: Vec<_> = (0..100).map(|i| spawn(move || batch * 100 + i)).collect();
        sum += hs.into_iter().map(|h| h.join()).sum::<u64>();
    }
    let took = start.elapsed();
    check(sum == N * (N - 1) / 2, || {
        format!("results sum up to {sum}")
    })?;
    check(num_goroutine() == before, || {
        format!("{} goroutines are left", num_goroutine() - before)
    })?;
    Ok(format!("{N} goroutines, {} ns each", each(took, N)))
}

fn yielding() -> Outcome {
    const N: u64 = 100_000;
    let before = machine::counts().switches;
    let start = Instant::now();
    (0..N).for_each(|_| yield_now());
    let took = start.elapsed();
    let switches = machine::counts().switches - before;
    check(switches >= N, || {
        format!("{N} yields made {switches} switches")
    })?;
    Ok(format!("{} ns each, {switches} switches", each(took, N)))
}

fn ping_pong() -> Outcome {
    const N: u64 = 20_000;
    let (ping, pong_in) = chan::<u64>(0);
    let (pong, ping_in) = chan::<u64>(0);
    let partner = spawn(move || pong_in.into_iter().for_each(|v| pong.send(v + 1).unwrap()));
    let start = Instant::now();
    let mut token = 0;
    for _ in 0..N {
        ping.send(token).map_err(|e| e.to_string())?;
        token = ping_in.recv().ok_or("the partner is gone")?;
    }
    let took = start.elapsed();
    drop(ping);
    partner.join();
    check(token == N, || format!("the token says {token}"))?;
    Ok(format!("{} ns a round trip", each(took, N)))
}

fn pipeline() -> Outcome {
    const N: u64 = 100_000;
    let (tx, rx) = chan::<u64>(64);
    let start = Instant::now();
    for k in 0..4 {
        let tx = tx.clone();
        go(move || (k..N).step_by(4).for_each(|v| tx.send(v).unwrap()));
    }
    drop(tx);
    let sum: u64 = rx.into_iter().sum();
    let took = start.elapsed();
    check(sum == N * (N - 1) / 2, || format!("values sum up to {sum}"))?;
    Ok(format!(
        "{N} values from 4 senders, {} ns each",
        each(took, N)
    ))
}

fn closing() -> Outcome {
    let (tx, rx) = chan::<u32>(4);
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let rx = rx.clone();
            spawn(move || rx.into_iter().count())
        })
        .collect();
    (0..1000).for_each(|v| tx.send(v).unwrap());
    tx.close();
    let got: usize = waiting.into_iter().map(|h| h.join()).sum();
    check(got == 1000, || format!("{got} of 1000 values arrived"))?;
    check(tx.send(1).is_err(), || {
        "a closed channel took a value".to_string()
    })?;
    Ok("100 receivers drained 1000 values and went home".to_string())
}

fn selecting() -> Outcome {
    const N: u32 = 5_000;
    let (even, even_in) = chan::<u32>(0);
    let (odd, odd_in) = chan::<u32>(8);
    let (stop, stopped) = chan::<()>(0);
    let start = Instant::now();
    go(move || {
        for i in 0..2 * N {
            select! {
                send(if i % 2 == 0 { &even } else { &odd }, i) -> r => r.unwrap(),
                recv(never::<()>()) -> _v => return,
            }
        }
        stop.close();
    });
    let mut seen = [0u32; 2];
    loop {
        select! {
            recv(even_in) -> v => if let Some(v) = v { seen[v as usize % 2] += 1 } else { break },
            recv(odd_in) -> v => if let Some(v) = v { seen[v as usize % 2] += 1 } else { break },
        }
    }
    let took = start.elapsed();
    // The buffer may hold some when the first channel is found closed.
    seen[1] += odd_in.into_iter().count() as u32;
    check(seen == [N, N] && stopped.recv().is_none(), || {
        format!("{seen:?} values of {N} and {N} arrived")
    })?;
    Ok(format!(
        "{} values over two channels at once, {} ns each",
        2 * N,
        each(took, 2 * N as u64)
    ))
}

fn mutual_exclusion() -> Outcome {
    const GS: u64 = 8;
    const N: u64 = 5_000;
    let total = Arc::new(Mutex::new(0u64));
    let wg = WaitGroup::new();
    let start = Instant::now();
    for _ in 0..GS {
        let total = total.clone();
        wg.go(move || (0..N).for_each(|_| *total.lock() += 1));
    }
    wg.wait();
    let took = start.elapsed();
    let total = *total.lock();
    check(total == GS * N, || format!("counted {total} of {}", GS * N))?;
    Ok(format!(
        "{GS} goroutines counted to {total} exactly, {} ns each step",
        each(took, GS * N)
    ))
}

fn scoped() -> Outcome {
    let mut cells = vec![0u64; 1000];
    scope(|s| {
        for part in cells.chunks_mut(100) {
            s.go(move || part.iter_mut().for_each(|c| *c += 1));
        }
    });
    check(cells.iter().all(|&c| c == 1), || {
        "a cell was missed".to_string()
    })?;
    Ok("10 goroutines wrote to a vector on main's stack".to_string())
}

fn sieve() -> Outcome {
    const PRIMES: usize = 300;
    const LAST: u32 = 1987;
    let start = Instant::now();
    let (tx, mut rx) = chan::<u32>(0);
    go(move || {
        for n in 2.. {
            if tx.send(n).is_err() {
                return;
            }
        }
    });
    let mut prime = 0;
    for _ in 0..PRIMES {
        prime = rx.recv().ok_or("the sieve is dry")?;
        let (tx, next) = chan(0);
        let from = core::mem::replace(&mut rx, next);
        go(move || {
            for n in &from {
                if n % prime != 0 && tx.send(n).is_err() {
                    return;
                }
            }
        });
    }
    check(prime == LAST, || {
        format!("prime {PRIMES} came out as {prime} instead of {LAST}")
    })?;
    Ok(format!(
        "prime {PRIMES} is {prime}, from a chain of {PRIMES} goroutines in {:.1?}",
        start.elapsed()
    ))
}

fn stealing() -> Outcome {
    let procs = machine::procs();
    let before = machine::counts().steals;
    let mut ran = vec![0u32; num_cpu()];
    let busy = |ran: &[u32]| ran.iter().filter(|&&n| n > 0).count();
    // With more CPUs than the host has, some come too late for their share.
    let wanted = if procs <= 4 { procs } else { procs / 2 };
    // More than once only where the host let a CPU sleep all the while.
    for _ in 0..10 {
        let hs: Vec<_> = (0..100 * procs)
            .map(|i| {
                spawn(move || {
                    let mut x = i as u64;
                    for _ in 0..50_000 {
                        x = core::hint::black_box(
                            x.wrapping_mul(6364136223846793005).wrapping_add(1),
                        );
                    }
                    machine::cpu()
                })
            })
            .collect();
        for h in hs {
            ran[h.join()] += 1;
        }
        if busy(&ran) >= wanted {
            break;
        }
    }
    let steals = machine::counts().steals - before;
    check(busy(&ran) >= wanted || !machine::steals(), || {
        format!("only {} CPUs worked, with {procs} Ps: {ran:?}", busy(&ran))
    })?;
    Ok(format!(
        "work from one P ran on the CPUs: {ran:?}, {steals} steals"
    ))
}

fn preemption() -> Outcome {
    if !machine::preempts() {
        return Ok("left out: this machine, as it is set, preempts nobody".to_string());
    }
    static STOP: AtomicU64 = AtomicU64::new(0);
    let (procs, slice) = (machine::procs(), machine::slice());
    let before = machine::counts().preemptions;
    let wg = WaitGroup::new();
    let start = Instant::now();
    for _ in 0..procs {
        // No call inside: only a timer interrupt can stop it.
        wg.go(|| while STOP.load(Relaxed) == 0 {});
    }
    let mut late: Vec<Duration> = (0..30)
        .map(|_| {
            let due = Instant::now() + Duration::from_millis(1);
            sleep(Duration::from_millis(1));
            due.elapsed()
        })
        .collect();
    let (took, preempted) = (start.elapsed(), machine::counts().preemptions - before);
    STOP.store(1, Relaxed);
    wg.wait();

    // A host with fewer free cores than we have CPUs takes its own time off them; a slice is then longer by the clock.
    let real = took * procs as u32 / preempted.max(1) as u32;
    late.sort_unstable();
    let slices = |d: Duration| d.as_secs_f64() / slice.as_secs_f64();
    let (median, worst) = (late[late.len() / 2], late[late.len() - 1]);
    check(median <= 2 * slice.max(real), || {
        format!("beside {procs} endless loops half of the ticks are over {median:.1?} late")
    })?;
    Ok(format!(
        "beside {procs} endless loops a ticker is {:.2} slices late, worst {:.2}; a loop ran {real:.1?} at a stretch",
        slices(median),
        slices(worst)
    ))
}

fn sleepers() -> Outcome {
    const N: u64 = 1000;
    let hs: Vec<_> = (0..N)
        .map(|i| {
            spawn(move || {
                let d = Duration::from_micros(10_000 + i * 7919 % 100_000);
                let start = Instant::now();
                sleep(d);
                start.elapsed().checked_sub(d)
            })
        })
        .collect();
    let late: Option<Vec<Duration>> = hs.into_iter().map(|h| h.join()).collect();
    let mut late = late.ok_or("a sleeper woke too early")?;
    late.sort_unstable();
    let (median, worst) = (late[late.len() / 2], late[late.len() - 1]);
    check(median < Duration::from_millis(100), || {
        format!("the median sleeper is {median:.1?} late")
    })?;
    Ok(format!(
        "{N} sleepers, none early; late {median:.1?} at the median, {worst:.1?} at worst"
    ))
}

#[inline(never)]
fn descend(level: u64) -> u64 {
    let mut room = [level; 64];
    core::hint::black_box(&mut room);
    if level == 0 {
        return 0;
    }
    descend(level - 1) + core::hint::black_box(&room)[63] / level
}

fn deep_stack() -> Outcome {
    const LEVELS: u64 = 100;
    let hs: Vec<_> = (0..10).map(|_| spawn(|| descend(LEVELS))).collect();
    let sum: u64 = hs.into_iter().map(|h| h.join()).sum();
    check(sum == 10 * LEVELS, || {
        format!("10 descents came back with {sum}")
    })?;
    Ok(format!(
        "10 goroutines went {LEVELS} calls, over {} KiB, deep on stacks that begin with 4 KiB",
        LEVELS * 512 / 1024
    ))
}

/// What a goroutine is reckoned to need when their number is chosen, in bytes.
const RECKONED_BYTES: u64 = 5 << 10;

fn crowd() -> Outcome {
    let n = match machine::free_bytes() {
        Some(free) => (free * 7 / 8 / RECKONED_BYTES).min(100_000),
        // One mapping each, of which Linux gives a process 65 530.
        None => 10_000,
    };
    let (before, used) = (num_goroutine(), machine::used_bytes());
    let (gate, closed_gate) = chan::<()>(0);
    let wg = WaitGroup::new();
    let start = Instant::now();
    let arrived = Arc::new(AtomicU64::new(0));
    for _ in 0..n {
        let (closed_gate, arrived) = (closed_gate.clone(), arrived.clone());
        wg.go(move || {
            arrived.fetch_add(1, Relaxed);
            closed_gate.recv();
        });
    }
    while arrived.load(Relaxed) < n {
        sleep(Duration::from_millis(1));
    }
    let (born, alive) = (start.elapsed(), num_goroutine() - before);
    let bytes = machine::used_bytes()
        .zip(used)
        .map(|(now, then)| (now - then) / n);
    let start = Instant::now();
    gate.close();
    wg.wait();
    let gone = start.elapsed();
    check(alive as u64 == n, || {
        format!("{alive} of {n} were there at once")
    })?;
    check(num_goroutine() == before, || {
        format!("{} are left", num_goroutine() - before)
    })?;
    let bytes = bytes.map_or(String::new(), |b| format!(", {b} bytes each"));
    Ok(format!(
        "{n} at once{bytes}; born in {born:.1?}, woken and gone in {gone:.1?}"
    ))
}

fn idle() -> Outcome {
    let before = machine::counts();
    sleep(Duration::from_millis(300));
    let after = machine::counts();
    let switches = after.switches - before.switches;
    check(switches < 100, || {
        format!("{switches} switches while everybody slept")
    })?;
    Ok(format!(
        "300 ms of sleep took {switches} switches, {} halts, {} timers",
        after.halts - before.halts,
        after.timers - before.timers
    ))
}
