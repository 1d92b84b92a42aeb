//! Stopping the world, whatever the others are at. Go: proc_test.go, and the bug reports named at each test.

use crate::param::param;
use crate::wait::{bump, chance, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use base::{IrqGuard, Rank, SpinLock};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::slice;
use ringo::prelude::*;
use sched::StopReason;

pub const TESTS: &[Test] = &[
    ("stw_deadlock", stw_deadlock),
    ("stw_loops_without_calls", stw_loops_without_calls),
    ("stw_loops_with_calls", stw_loops_with_calls),
    ("stw_short_calls", stw_short_calls),
    ("stw_spin_locks", stw_spin_locks),
    ("stw_affinity", stw_affinity),
    ("stw_time", stw_time),
];

/// Stops the world once, and lets it go on.
pub fn stop_once() {
    sched::this().with_world_stopped(StopReason::Look, |_| ())
}

/// Go: StopTheWorldDeadlock. The world is stopped and the number of Ps changes again and again, while one G keeps starting
/// itself anew and others talk.
fn stw_deadlock() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static BORN: AtomicU64 = AtomicU64::new(0);
    fn perpetual() {
        bump(&BORN);
        if !STOP.load(Relaxed) {
            go(perpetual)
        }
    }
    let rounds = param("rounds", 1000);
    let most = sched::gomaxprocs();
    go(perpetual);
    let (tx, rx) = chan::<u64>(0);
    let (full, other) = chan::<u64>(3);
    let talkers: Vec<_> = (0..3)
        .map(|_| {
            let (tx, full, rx, other) = (tx.clone(), full.clone(), rx.clone(), other.clone());
            spawn(move || {
                let mut n = 0u64;
                while !STOP.load(Relaxed) {
                    select! {
                        send(tx, n) -> r => r.expect("open"),
                        recv(rx) -> v => n += v.expect("open") % 2,
                        send(full, n) -> r => r.expect("open"),
                        recv(other) -> v => n += v.expect("open") % 2,
                        default => yield_now()
                    }
                    n += 1;
                    // One that talks to itself through the buffer would never have to wait.
                    if n.is_multiple_of(8) {
                        yield_now()
                    }
                }
                n
            })
        })
        .collect();
    until(|| BORN.load(Relaxed) > 10);
    for i in 0..rounds {
        if i % 3 == 0 {
            sched::set_gomaxprocs(1 + (i / 3) as usize % most);
        } else {
            stop_once()
        }
        yield_now()
    }
    STOP.store(true, Relaxed);
    sched::set_gomaxprocs(most);
    let said: Vec<u64> = talkers.into_iter().map(|t| t.join()).collect();
    until(|| num_goroutine() == 1);
    figure!("stops", rounds);
    figure!("born", BORN.load(Relaxed));
    ensure!(
        said.iter().all(|n| *n > 0),
        "some talker never ran: {said:?}"
    );
    Ok(())
}

/// Loops that call nothing and look at nothing: only an interrupt ends their turn.
const LOOPS: &[(&str, fn() -> !)] = &[
    ("empty", || {
        loop {
            core::hint::black_box(());
        }
    }),
    ("memory", || {
        let mut n = 0u64;
        loop {
            n = core::hint::black_box(n.wrapping_mul(5).wrapping_add(1));
        }
    }),
    ("float", || {
        let mut x = 1.5f64;
        loop {
            x = core::hint::black_box(x * 1.000_000_1 - 1e-9);
        }
    }),
    ("atomic", || {
        static N: AtomicU64 = AtomicU64::new(0);
        loop {
            N.fetch_add(1, Relaxed);
        }
    }),
];

/// Go: AsyncPreempt (testprog), golang/go#10958, #543, #24543, #35923, and fixedbugs/issue19182. Loops of several shapes on
/// each P; the world stops nevertheless, and main gets its turns.
fn stw_loops_without_calls() -> Outcome {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    let mut begun = 0;
    for (name, endless) in LOOPS {
        for _ in 0..sched::gomaxprocs() {
            begun += 1;
            go(move || {
                bump(&BEGUN);
                endless()
            });
        }
        until(|| BEGUN.load(Relaxed) == begun);
        for _ in 0..param("stops", 5) {
            stop_once();
            yield_now()
        }
        figure!("shape", name);
    }
    figure!("loops", begun);
    Ok(())
}

#[inline(never)]
fn called(n: u64) -> u64 {
    core::hint::black_box(n) + 1
}

/// Go: PreemptionGC. More Gs than Ps that hold their CPUs, with calls in their loops; the world stops ten times.
fn stw_loops_with_calls() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let gs: Vec<_> = (0..sched::gomaxprocs() + 2)
        .map(|_| {
            spawn(|| {
                let mut n = 0;
                while !STOP.load(Relaxed) {
                    n = called(n);
                }
                n
            })
        })
        .collect();
    for _ in 0..param("stops", 10) {
        yield_now();
        stop_once()
    }
    STOP.store(true, Relaxed);
    let done: Vec<u64> = gs.into_iter().map(|g| g.join()).collect();
    figure!("loops", done.len());
    Ok(())
}

/// golang/go#28701: Gs that make one short blocking call after the other look different at each look. The world stops
/// nevertheless; where Gs are preempted, others get their turns too.
fn stw_short_calls() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let spins = param("spins", 50) as u32;
    let gs: Vec<_> = (0..sched::gomaxprocs())
        .map(|_| {
            spawn(move || {
                let mut n = 0u64;
                while !STOP.load(Relaxed) {
                    // Nearly all of its time is spent in calls.
                    blocking(|| spin(spins));
                    n += 1;
                    // Alone on one P nobody else would ever stop it where nothing preempts.
                    if !crate::wait::preempts() && n.is_multiple_of(16) {
                        yield_now()
                    }
                }
                n
            })
        })
        .collect();
    let turns = spawn(|| {
        for _ in 0..param("turns", 10) {
            yield_now()
        }
    });
    for _ in 0..param("stops", 100) {
        stop_once();
        yield_now()
    }
    turns.join();
    STOP.store(true, Relaxed);
    let calls: Vec<u64> = gs.into_iter().map(|g| g.join()).collect();
    figure!("calls", calls.iter().sum::<u64>());
    ensure!(
        calls.iter().all(|n| *n > 0),
        "some caller never ran: {calls:?}"
    );
    Ok(())
}

/// TinyGo #5151, #5607, #5610: the world is stopped while others hold and wait for locks, with interrupts on and off.
/// Nobody waits for an answer of a CPU that waits for a lock of his.
fn stw_spin_locks() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static PLAIN: SpinLock<u64> = SpinLock::new(Rank::Channel, 0);
    static MASKED: SpinLock<u64> = SpinLock::new(Rank::Channel, 0);
    let gs: Vec<_> = (0..sched::gomaxprocs() as u64)
        .map(|i| {
            spawn(move || {
                let (mut rng, mut n) = (chance(i), 0u64);
                while !STOP.load(Relaxed) {
                    if rng.below(2) == 0 {
                        *PLAIN.lock() += 1;
                    } else {
                        let off = IrqGuard::new();
                        let mut held = MASKED.lock();
                        *held += 1;
                        spin(rng.below(2000));
                        drop(held);
                        drop(off);
                    }
                    n += 1;
                    if n.is_multiple_of(64) {
                        yield_now()
                    }
                }
                n
            })
        })
        .collect();
    for _ in 0..param("stops", 300) {
        stop_once();
        yield_now()
    }
    STOP.store(true, Relaxed);
    let sections: u64 = gs.into_iter().map(|g| g.join()).sum();
    let counted = *PLAIN.lock() + *MASKED.lock();
    figure!("sections", sections);
    ensure!(
        counted == sections,
        "{counted} sections counted of {sections}"
    );
    Ok(())
}

/// Go: TraceSTW, golang/go#65694. Over a stop, at least three of four running Gs stay on their CPU, and those that wait are
/// left alone.
fn stw_affinity() -> Outcome {
    const NONE: u64 = u64::MAX;
    static STOP: AtomicBool = AtomicBool::new(false);
    static WOKEN: AtomicU64 = AtomicU64::new(0);
    static AT: [AtomicU64; arch::MAX_CPUS] = [const { AtomicU64::new(NONE) }; arch::MAX_CPUS];
    let gate = Arc::new(Semaphore::new(0));
    let waiters: Vec<_> = (0..20)
        .map(|_| {
            let gate = gate.clone();
            spawn(move || {
                gate.acquire();
                bump(&WOKEN);
            })
        })
        .collect();
    // Main has a P too.
    let loops = sched::gomaxprocs() - 1;
    for at in &AT[..loops] {
        go(|| {
            while !STOP.load(Relaxed) {
                at.store(ringo::machine::cpu() as u64, Relaxed);
                spin(20)
            }
        });
    }
    let look = || -> Vec<u64> {
        AT[..loops].iter().for_each(|at| at.store(NONE, SeqCst));
        crate::wait::hold_until(|| AT[..loops].iter().all(|at| at.load(SeqCst) != NONE));
        AT[..loops].iter().map(|at| at.load(SeqCst)).collect()
    };
    let stops = param("stops", 200);
    let (mut stayed, mut all) = (0, 0);
    for _ in 0..stops {
        let before = look();
        stop_once();
        let after = look();
        all += loops;
        stayed += before.iter().zip(&after).filter(|(b, a)| b == a).count();
    }
    STOP.store(true, Relaxed);
    let woken = WOKEN.load(SeqCst);
    waiters.iter().for_each(|_| gate.release());
    waiters.into_iter().for_each(|w| w.join());
    figure!("stayed", stayed);
    figure!("of", all);
    ensure!(woken == 0, "{woken} that waited ran");
    ensure!(
        stayed * 4 >= all * 3,
        "{stayed} of {all} stayed where they were"
    );
    Ok(())
}

/// How long a stop takes beside as many loops without calls as there are CPUs: the median is within one slice, or the loops
/// were not told to stop but came to the end of their slices.
fn stw_time() -> Outcome {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    let hogs = param("hogs", num_cpu() as u64);
    for _ in 0..hogs {
        go(|| {
            bump(&BEGUN);
            LOOPS[0].1()
        });
    }
    until(|| BEGUN.load(Relaxed) == hogs);
    let mut times: Vec<Duration> = (0..param("stops", 50))
        .map(|_| {
            let begin = Instant::now();
            let stood = sched::this().with_world_stopped(StopReason::Look, |_| Instant::now());
            stood - begin
        })
        .collect();
    times.sort_unstable();
    let median = times[times.len() / 2];
    figure!("median_us", median.as_micros());
    figure!("worst_us", times[times.len() - 1].as_micros());
    ensure!(
        median < slice(),
        "the median stop takes {median:?}, a slice {:?}",
        slice()
    );
    Ok(())
}
