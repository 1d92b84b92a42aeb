//! Goroutines that are locked to their CPUs. Go: proc_test.go, `TestLockOSThreadExit` and its like, LockOSThreadNesting.

use crate::param::param;
use crate::wait::{bump, chance, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::cpu;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("locked_hands_p_on", locked_hands_p_on),
    ("locked_mix", locked_mix),
];

/// With fewer Ps than CPUs, the P of a locked G that parks goes to another CPU, and comes back with the G: those that it waits
/// for run elsewhere, it runs here.
fn locked_hands_p_on() -> Outcome {
    let procs = param("procs", 1) as usize;
    gomaxprocs(procs);
    // A CPU that has just given its P back is not idle yet, and takes as long to become so as the host likes.
    let (wanted, rounds) = if procs < num_cpu() {
        (20, 50_000)
    } else {
        (u64::MAX, 300)
    };
    let (ping, pinged) = chan::<u64>(1);
    let (pong, ponged) = chan::<usize>(1);
    let locked = spawn(move || {
        lock_to_cpu();
        let here = cpu();
        let begin = Instant::now();
        let (mut moved, mut elsewhere) = (0, 0);
        let mut n = 0;
        while n < rounds && elsewhere < wanted {
            n += 1;
            ping.send(n).expect("open");
            let there = ponged.recv().expect("open");
            elsewhere += u64::from(there != here);
            moved += u64::from(cpu() != here);
        }
        let ns = begin.elapsed().as_nanos() / u128::from(n);
        figure!("rounds", n);
        (moved, elsewhere, ns)
    });
    let other = spawn(move || {
        while pinged.recv().is_some() {
            pong.send(cpu()).expect("open");
            spin(2000);
        }
    });
    let (moved, elsewhere, ns) = locked.join();
    other.join();
    figure!("elsewhere", elsewhere);
    figure!("ns_each", ns);
    ensure!(moved == 0, "a locked G was on another CPU {moved} times");
    ensure!(
        wanted == u64::MAX || elsewhere == wanted,
        "its P went to another CPU {elsewhere} times of {rounds}"
    );
    Ok(())
}

/// Many locked Gs and others, that park, yield, sleep, block and compute, while the number of Ps changes.
fn locked_mix() -> Outcome {
    static LAPS: AtomicU64 = AtomicU64::new(0);
    static MOVED: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    let (laps, cpus) = (param("laps", 60), num_cpu());
    let gs = 3 * cpus as u64;
    let (tokens, taken) = chan::<u64>(2);
    (0..2).for_each(|n| tokens.send(n).expect("open"));
    let all: Vec<_> = (0..gs)
        .map(|n| {
            let (tokens, taken) = (tokens.clone(), taken.clone());
            spawn(move || {
                let mut rng = chance(n);
                let locks = n % 3;
                (0..locks).for_each(|_| lock_to_cpu());
                let here = cpu();
                for _ in 0..laps {
                    match rng.below(6) {
                        0 => yield_now(),
                        1 => sleep(Duration::from_nanos(rng.below(30_000).into())),
                        2 => blocking(|| spin(rng.below(20_000))),
                        3 => {
                            let token = taken.recv().expect("open");
                            spin(200);
                            tokens.send(token).expect("open");
                        }
                        _ => spin(rng.below(3_000)),
                    }
                    MOVED.fetch_add(u64::from(locks > 0 && cpu() != here), Relaxed);
                    bump(&LAPS);
                }
                // One is left locked at its end: its CPU goes on without it.
                (1..locks).for_each(|_| unlock_from_cpu());
            })
        })
        .collect();
    let changes = spawn(move || {
        let mut n = 0;
        while !STOP.load(Relaxed) {
            n += 1;
            gomaxprocs(1 + n % cpus);
            sleep(Duration::from_micros(300));
        }
        n
    });
    all.into_iter().for_each(|g| g.join());
    STOP.store(true, Relaxed);
    figure!("changes", changes.join());
    figure!("laps", LAPS.load(Relaxed));
    until(|| num_goroutine() == 1);
    ensure!(
        LAPS.load(Relaxed) == gs * laps,
        "{} laps",
        LAPS.load(Relaxed)
    );
    ensure!(
        MOVED.load(Relaxed) == 0,
        "a locked G was on another CPU {} times",
        MOVED.load(Relaxed)
    );
    Ok(())
}
