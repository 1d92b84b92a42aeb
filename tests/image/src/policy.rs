//! In which order the policies let Gs run, and what `queue=global` is.

use crate::param::param;
use crate::wait::{bump, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::machine::counts;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("policy_order", policy_order),
    ("queue_global", queue_global),
];

/// Gs of a round; their numbers are the digits of an order.
const GS: u64 = 5;

/// The order that came most often, as a number. A tick in the middle of a round makes another one.
fn usual(round: fn() -> u64) -> u64 {
    let mut orders: Vec<u64> = (0..param("rounds", 51)).map(|_| round()).collect();
    orders.sort_unstable();
    orders[orders.len() / 2]
}

/// Starts Gs from one that goes on, and then lets them run.
fn new_ones() -> u64 {
    let order = Arc::new(Mutex::new(0));
    let wg = WaitGroup::new();
    for n in 0..GS {
        let order = order.clone();
        wg.go(move || {
            let mut order = order.lock();
            *order = *order * 10 + n
        });
    }
    wg.wait();
    *order.lock()
}

/// Readies Gs from one that goes on, and then lets them run.
fn ready_ones() -> u64 {
    let order = Arc::new(Mutex::new(0));
    let wg = WaitGroup::new();
    let (tell, told): (Vec<_>, Vec<_>) = (0..GS).map(|_| chan::<u64>(1)).unzip();
    let parked = Arc::new(AtomicU64::new(0));
    for told in told {
        let (order, parked) = (order.clone(), parked.clone());
        wg.go(move || {
            parked.fetch_add(1, Relaxed);
            let n = told.recv().expect("open");
            let mut order = order.lock();
            *order = *order * 10 + n
        });
    }
    until(|| parked.load(Relaxed) == GS);
    yield_now();
    for (n, tell) in (0..).zip(&tell) {
        tell.send(n).expect("open");
    }
    wg.wait();
    *order.lock()
}

fn policy_order() -> Outcome {
    gomaxprocs(1);
    figure!("new", usual(new_ones));
    figure!("ready", usual(ready_ones));
    Ok(())
}

/// `queue=global steal=off` is Go 1.0's scheduler: whatever Gs do, no P ever holds one, nobody steals, and Gs that yield take
/// turns over all CPUs.
fn queue_global() -> Outcome {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    static WAITING: AtomicU64 = AtomicU64::new(0);
    static LOCAL: AtomicU64 = AtomicU64::new(0);
    let s = sched::this();
    let (gs, laps) = (8 * s.procs() as u64, param("laps", 400));
    let look = || {
        bump(&LOOKS);
        WAITING.fetch_add(u64::from(s.runqsize() > 0), Relaxed);
        let local = s.allp.iter().any(|p| !p.runq.is_empty());
        LOCAL.fetch_add(u64::from(local), Relaxed);
    };
    let wg = WaitGroup::new();
    for n in 0..gs {
        wg.go(move || {
            let (ping, pinged) = chan::<u64>(0);
            go(move || (0..laps / 10).for_each(|lap| ping.send(lap).expect("open")));
            for lap in 0..laps {
                spin(100);
                look();
                match (lap + n) % 10 {
                    0 => assert!(pinged.recv().is_some()),
                    1 => sleep(Duration::from_nanos(1_000)),
                    _ => yield_now(),
                }
            }
        });
    }
    wg.wait();
    figure!("looks", LOOKS.load(Relaxed));
    figure!("with a queue", WAITING.load(Relaxed));
    ensure!(
        LOCAL.load(Relaxed) == 0,
        "a P held Gs at {} looks of {}",
        LOCAL.load(Relaxed),
        LOOKS.load(Relaxed)
    );
    ensure!(
        WAITING.load(Relaxed) > LOOKS.load(Relaxed) / 2,
        "the global queue was mostly empty"
    );
    ensure!(counts().steals == 0, "somebody stole");
    Ok(())
}
