//! Goroutines: how they are born, wait for each other and lie in memory.

use super::{Outcome, check, each};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use ringo::machine;
use ringo::prelude::*;

pub fn spawning() -> Outcome {
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

pub fn yielding() -> Outcome {
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

pub fn mutual_exclusion() -> Outcome {
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

pub fn scoped() -> Outcome {
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

#[inline(never)]
fn descend(level: u64) -> u64 {
    let mut room = [level; 64];
    core::hint::black_box(&mut room);
    if level == 0 {
        return 0;
    }
    descend(level - 1) + core::hint::black_box(&room)[63] / level
}

pub fn deep_stack() -> Outcome {
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

pub fn crowd() -> Outcome {
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
