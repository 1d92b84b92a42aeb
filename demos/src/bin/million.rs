//! As many parked goroutines as memory allows, then all of them woken and ended. `-- N`: how many at most. Try `--mem 8G`.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::machine;
use ringo::prelude::*;
ringo::main!(main);

/// Goroutines that wait at one gate; a gate wakes all of its own at once.
const AT_A_GATE: u64 = 1000;
/// How far the maker may be ahead of those that park: a goroutine that waits for its first turn is not parked yet.
const AHEAD: u64 = 256;

/// How many are made between two looks at the memory that is left.
const LOOK_EVERY: u64 = 64;

static PARKED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

fn mib(bytes: u64) -> f64 {
    bytes as f64 / (1 << 20) as f64
}

/// Memory in use, and whether there is room for more goroutines beside what the machine keeps for those that run.
fn memory() -> (u64, bool) {
    match (machine::used_bytes(), machine::free_bytes()) {
        (Some(used), Some(free)) => (used, free > (used + free) / 32),
        _ => (0, true),
    }
}

/// Makes goroutines that park at gates until there are `most` or memory runs short.
fn make(most: u64) -> (u64, Vec<Sender<()>>) {
    let (mut made, mut gates) = (0, Vec::new());
    while made < most && memory().1 {
        let (gate, at_gate) = chan::<()>(0);
        gates.push(gate);
        for _ in 0..AT_A_GATE.min(most - made) {
            let at_gate = at_gate.clone();
            go(move || {
                PARKED.fetch_add(1, Relaxed);
                at_gate.recv(); // until the gate is dropped
                ENDED.fetch_add(1, Relaxed);
            });
            made += 1;
            if made.is_multiple_of(LOOK_EVERY) && !memory().1 {
                break;
            }
            while made - PARKED.load(Relaxed) > AHEAD {
                yield_now()
            }
        }
    }
    (made, gates)
}

/// Waits until memory in use falls no more; it comes back as the CPUs pass their ticks.
fn settled() -> u64 {
    let mut used = memory().0;
    loop {
        sleep(Duration::from_millis(100));
        let now = memory().0;
        if now >= used {
            return now;
        }
        used = now;
    }
}

fn main() -> Result<(), String> {
    let most = if machine::IS_HOST { 20_000 } else { 1_000_000 };
    let most = ringo::args::number("goroutines at most", most, 1..=10_000_000);
    let before = memory().0;

    let start = Instant::now();
    let (made, gates) = make(most);
    while PARKED.load(Relaxed) != made || num_goroutine() as u64 != made + 1 {
        yield_now()
    }
    let took = start.elapsed();
    let peak = memory().0;
    println!("{made} goroutines parked after {took:.1?}");
    if made < most {
        println!("memory allowed no more; with --mem it has more to give");
    }

    let start = Instant::now();
    drop(gates);
    while num_goroutine() > 1 {
        yield_now()
    }
    println!("all woken and ended after {:.1?}", start.elapsed());

    if !machine::IS_HOST {
        let after = settled();
        println!(
            "{} bytes each, all counted; in use: {:.1} MiB before, {:.1} with them, {:.1} after",
            (peak - before) / made,
            mib(before),
            mib(peak),
            mib(after)
        );
    }
    match ENDED.load(Relaxed) {
        ended if ended == made => Ok(()),
        ended => Err(format!("{made} were made, but {ended} ended")),
    }
}
