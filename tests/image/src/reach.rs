//! How costs grow with the number of those who take part: waiters one behind the other, timers in a heap, Ps on one channel.
//!
//! A machine that shares its processors measures chance. So two sizes are compared where time is counted in instructions
//! (`--seed`), or by the harness, which sees what processor time each took (`once=1`).

use crate::param::param;
use crate::wait::{chance, spin};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::prelude::*;
use sched::timer;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("reach_mutex_waiters", reach_mutex_waiters),
    ("reach_semaphore_waiters", reach_semaphore_waiters),
    ("reach_timers", reach_timers),
    ("reach_hot_channel", reach_hot_channel),
];

/// What one of `n` took, in ns.
fn each(took: Duration, n: u64) -> u64 {
    (took.as_nanos() as u64 / n).max(1)
}

/// `n` goroutines that wait for what `enter` takes, and go on one after the other as soon as `open` was called: from the birth of
/// the first to the end of the last.
fn crowd(
    n: u64,
    enter: impl Fn() + Clone + Send + 'static,
    open: impl FnOnce(),
) -> Result<Duration, String> {
    let waiting = || ringo::metrics::read().goroutines.waiting;
    let before = waiting();
    let wg = WaitGroup::new();
    let begin = Instant::now();
    for _ in 0..n {
        wg.go(enter.clone())
    }
    while waiting() < before + n {
        sleep(Duration::from_millis(2))
    }
    open();
    wg.wait();
    Ok(begin.elapsed())
}

/// Twice as many must not take three times as long (golang/go #17953).
fn grows_linearly(run: impl Fn(u64) -> Result<Duration, String>) -> Outcome {
    let n = param("waiters", 10_000);
    let small = run(n)?;
    figure!("each_ns", each(small, n));
    if once() {
        return Ok(());
    }
    let large = run(2 * n)?;
    let percent = large.as_nanos() * 100 / small.as_nanos().max(1);
    figure!("percent_of_half_as_many", percent);
    ensure!(
        percent < 300,
        "{n} take {small:?}, {} take {large:?}",
        2 * n
    );
    Ok(())
}

/// One size only, for the harness to compare?
fn once() -> bool {
    param("once", 0) == 1
}

/// golang/go #33747, #17953: thousands that wait for one mutex, which is handed from each to the next.
fn reach_mutex_waiters() -> Outcome {
    grows_linearly(|n| {
        let mutex = Arc::new(Mutex::new(0u64));
        let held = mutex.lock();
        let m = mutex.clone();
        let took = crowd(n, move || *m.lock() += 1, || drop(held))?;
        let through = *mutex.lock();
        ensure_that(through == n, || format!("{through} of {n} got through"))?;
        Ok(took)
    })
}

/// golang/go #17953, #81957: the same with a semaphore, all of them in one list.
fn reach_semaphore_waiters() -> Outcome {
    grows_linearly(|n| {
        let (semaphore, through) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicU64::new(0)));
        let (s, t) = (semaphore.clone(), through.clone());
        let enter = move || {
            s.acquire();
            t.fetch_add(1, Relaxed);
        };
        let took = crowd(n, enter, || (0..n).for_each(|_| semaphore.release()))?;
        let (through, left) = (through.load(Relaxed), semaphore.available());
        ensure_that(through == n && left == 0, || {
            format!("{through} of {n} got through, {left} permits are left")
        })?;
        Ok(took)
    })
}

fn ensure_that(holds: bool, why: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(why()) }
}

/// Counts.
struct Count(Arc<AtomicU64>);

impl timer::Fire for Count {
    fn fire(&self, _now_ns: u64) -> bool {
        self.0.fetch_add(1, Relaxed);
        true
    }
}

const HOUR_NS: u64 = 3_600_000_000_000;

/// What `n` timers take, in ns each: to be set, to be set anew, to be stopped (half of them), to fire (the others).
fn timers(n: u64) -> Result<[u64; 4], String> {
    let mut rng = chance(n);
    let mut far_ns = || 2 * HOUR_NS + u64::from(rng.below(u32::MAX)) * 1000;
    let fired = Arc::new(AtomicU64::new(0));
    let all: Vec<_> = (0..n)
        .map(|_| timer::Timer::new(Box::new(Count(fired.clone()))))
        .collect();
    let mut took = [0; 4];
    let mut lap = |i: usize, n: u64, f: &mut dyn FnMut() -> u64| {
        let begin = Instant::now();
        let right = f();
        took[i] = each(begin.elapsed(), n);
        ensure_that(right == n, || {
            format!("step {i}: {right} of {n} were right")
        })
    };
    let count = |all: &mut dyn Iterator<Item = bool>| all.filter(|right| *right).count() as u64;
    lap(0, n, &mut || {
        count(&mut all.iter().map(|t| !t.reset(far_ns(), 0)))
    })?;
    // Earlier or later than before, as it comes: with a new entry, or with the old one put right when it is met.
    lap(1, n, &mut || {
        count(&mut all.iter().map(|t| t.reset(far_ns() - HOUR_NS, 0)))
    })?;
    lap(2, n / 2, &mut || {
        count(&mut all.iter().step_by(2).map(|t| t.stop()))
    })?;
    let left = n - n.div_ceil(2);
    lap(3, left, &mut || {
        let now_ns = sched::now_ns();
        for t in all.iter().skip(1).step_by(2) {
            t.reset(now_ns + 1, 0);
        }
        while fired.load(Relaxed) < left {
            sleep(Duration::from_micros(100))
        }
        fired.load(Relaxed)
    })?;
    Ok(took)
}

/// Timers by the ten thousand and more: sixteen times as many may cost each a little more, as the depth of the heap has it, but by
/// far not sixteen times.
fn reach_timers() -> Outcome {
    let n = param("timers", 32_000) & !15;
    let large = timers(n)?;
    figure!("set_ns", large[0]);
    figure!("reset_ns", large[1]);
    figure!("stop_ns", large[2]);
    figure!("fire_ns", large[3]);
    if once() {
        return Ok(());
    }
    let small = timers(n / 16)?;
    let percent: u64 = large.iter().sum::<u64>() * 100 / small.iter().sum::<u64>();
    figure!("percent_of_a_16th", percent);
    ensure!(
        percent < 400,
        "{n} timers cost {large:?} ns each, {} cost {small:?}",
        n / 16
    );
    Ok(())
}

/// Values that go through one channel of `cap` on `procs` Ps, from four to four.
fn through_one_channel(procs: usize, cap: usize, n: u64) -> Result<Duration, String> {
    gomaxprocs(procs);
    let (tx, rx) = chan::<u64>(cap);
    let begin = Instant::now();
    for k in 0..4 {
        let tx = tx.clone();
        go(move || (k..n).step_by(4).for_each(|v| tx.send(v).unwrap()));
    }
    drop(tx);
    let receivers: Vec<_> = (0..4)
        .map(|_| {
            let rx = rx.clone();
            spawn(move || rx.into_iter().sum::<u64>())
        })
        .collect();
    let sum: u64 = receivers.into_iter().map(JoinHandle::join).sum();
    let took = begin.elapsed();
    ensure_that(sum == n * (n - 1) / 2, || {
        format!("the values sum up to {sum}")
    })?;
    Ok(took)
}

/// Has each P a processor of its own at this moment? Then all of them together take no longer for as much each than one alone.
fn cores_are_free(procs: usize) -> bool {
    let compute = |n: usize| {
        let begin = Instant::now();
        let gs: Vec<_> = (0..n).map(|_| spawn(|| spin(2_000_000))).collect();
        gs.into_iter().for_each(JoinHandle::join);
        begin.elapsed()
    };
    gomaxprocs(procs);
    let alone = compute(1);
    compute(procs) < alone * 4 / 3
}

/// golang/go #20351, #57070: all Ps on one channel carry at least 0.3 of what one P does. Where the machine's processors are busy
/// with other things the figure is chance, and not judged.
fn reach_hot_channel() -> Outcome {
    let (all, n) = (gomaxprocs(0), param("values", 40_000));
    let (mut best, mut judged) = ([0; 2], 0);
    for _ in 0..param("tries", 6) {
        let free_before = cores_are_free(all);
        let mut percent = [0; 2];
        for (percent, cap) in percent.iter_mut().zip([128, 0]) {
            let one = through_one_channel(1, cap, n)?;
            let many = through_one_channel(all, cap, n)?;
            *percent = one.as_nanos() * 100 / many.as_nanos().max(1);
            println!(
                "capacity {cap}: {} ns a value on one P, {} ns on {all}: {percent} %",
                each(one, n),
                each(many, n)
            );
        }
        if free_before && cores_are_free(all) {
            judged += 1;
            best = core::array::from_fn(|i| percent[i].max(best[i]))
        }
    }
    let worst = best.into_iter().min().unwrap_or(0);
    figure!("tries_with_free_cores", judged);
    figure!("percent_of_one_p", worst);
    ensure!(
        judged == 0 || worst >= 30,
        "only {worst} % of what one P carries"
    );
    Ok(())
}
