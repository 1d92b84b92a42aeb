//! Birth, death and counting of goroutines.

use crate::param::param;
use crate::wait::{bump, chance, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("life_counts", life_counts),
    ("life_ids", life_ids),
    ("life_goexit", life_goexit),
    ("life_large_closures", life_large_closures),
    ("life_generations", life_generations),
    ("life_chain", life_chain),
    ("life_current", life_current),
    ("life_park_ready", life_park_ready),
];

/// Go: NumGoroutine. A G is counted out before its join returns.
fn life_counts() -> Outcome {
    ensure!(
        num_goroutine() == 1 && current().id() == 1,
        "main is not the only goroutine, number 1"
    );
    let sem = Arc::new(Semaphore::new(0));
    for round in 0..param("rounds", 50) {
        let n = 1 + round as usize % 40;
        let gs: Vec<_> = (0..n)
            .map(|_| {
                let sem = sem.clone();
                spawn(move || sem.acquire())
            })
            .collect();
        ensure!(
            num_goroutine() == n + 1,
            "{} goroutines of {}",
            num_goroutine(),
            n + 1
        );
        (0..n).for_each(|_| sem.release());
        for (i, g) in gs.into_iter().enumerate() {
            g.join();
            ensure!(
                num_goroutine() <= n - i,
                "joined, and still counted: {} of {}",
                num_goroutine(),
                n - i
            );
        }
        ensure!(num_goroutine() == 1, "{} left", num_goroutine());
    }
    let mut alive = 0;
    sched::this().for_each_g(|g| alive += u64::from(g.status() != sched::GStatus::Dead));
    ensure!(alive == 1, "{alive} Gs are not dead");
    Ok(())
}

/// No number is used twice.
fn life_ids() -> Outcome {
    let n = param("gs", 5000);
    let mut ids: Vec<u64> = Vec::new();
    for _ in 0..4 {
        let gs: Vec<_> = (0..n / 4)
            .map(|_| spawn(|| (current().id(), spawn(|| current().id()).join())))
            .collect();
        ids.extend(gs.into_iter().flat_map(|g| <[u64; 2]>::from(g.join())));
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    ensure!(
        ids.len() == all && !ids.contains(&1),
        "{} of {all} numbers are distinct",
        ids.len()
    );
    Ok(())
}

/// Ends in the middle; others go on, join handles and scopes are settled.
fn life_goexit() -> Outcome {
    static BEFORE: AtomicU64 = AtomicU64::new(0);
    static AFTER: AtomicU64 = AtomicU64::new(0);
    fn leaves(i: u64) {
        bump(&BEFORE);
        if i.is_multiple_of(2) {
            goexit()
        }
        bump(&AFTER);
    }
    let n = param("gs", 1000);
    scope(|s| (0..n).for_each(|i| s.go(move || leaves(i))));
    ensure!(
        BEFORE.load(Relaxed) == n && AFTER.load(Relaxed) == n / 2,
        "goexit did not end exactly half of them"
    );
    let handle = spawn(|| leaves(0));
    until(|| handle.is_finished());
    ensure!(num_goroutine() == 1, "{} goroutines", num_goroutine());
    Ok(())
}

/// Closures of all sizes, on the new stack and beside it, aligned as they want to be.
fn life_large_closures() -> Outcome {
    #[repr(align(64))]
    #[derive(Clone, Copy)]
    struct Wide([u64; 8]);
    fn with<const N: usize>(seed: u64) -> Outcome {
        let data = [seed; N];
        let wide = Wide([seed; 8]);
        let got = spawn(move || {
            let aligned = (&raw const wide).addr().is_multiple_of(64);
            data.iter().chain(&wide.0).all(|w| *w == seed) && aligned
        })
        .join();
        ensure!(got, "a closure of {} bytes arrived damaged", 8 * N);
        Ok(())
    }
    for seed in 0..50 {
        with::<1>(seed)?;
        with::<7>(seed)?;
        with::<60>(seed)?;
        with::<120>(seed)?;
        with::<200>(seed)?;
        with::<2000>(seed)?;
    }
    Ok(())
}

/// Go #9869: memory of the tenth generation is that of the first.
fn life_generations() -> Outcome {
    // Enough that the dead ones which each P keeps to itself do not count.
    let n = param("gs", 10_000);
    let mut used = Vec::new();
    for _ in 0..10 {
        let sem = Arc::new(Semaphore::new(0));
        let gs: Vec<_> = (0..n)
            .map(|_| {
                let sem = sem.clone();
                spawn(move || sem.acquire())
            })
            .collect();
        used.push(ringo::machine::used_bytes().unwrap_or(1));
        (0..n).for_each(|_| sem.release());
        gs.into_iter().for_each(|g| g.join());
    }
    figure!("kib_first", used[0] >> 10);
    figure!("kib_last", used[9] >> 10);
    ensure!(
        used[9] * 100 <= used[0] * 105,
        "bytes in use by generation: {used:?}"
    );
    Ok(())
}

/// Go: chan/goroutines. A chain of goroutines, each hands one token on.
fn life_chain() -> Outcome {
    let n = param("gs", 10_000);
    let (first, mut rx) = chan::<u64>(0);
    for _ in 0..n {
        let (tx, next) = chan::<u64>(0);
        let from = core::mem::replace(&mut rx, next);
        go(move || _ = tx.send(from.recv().map_or(0, |v| v + 1)));
    }
    go(move || _ = first.send(0));
    ensure!(rx.recv() == Some(n), "the token was lost in a chain of {n}");
    Ok(())
}

/// Go: GetgThreadSwitch. Who am I, after moving to another CPU.
fn life_current() -> Outcome {
    static MOVES: AtomicU64 = AtomicU64::new(0);
    let procs = sched::gomaxprocs() as u64;
    let gs: Vec<_> = (0..4 * procs)
        .map(|stream| {
            spawn(move || {
                let (me, mut rng, mut cpu) = (current().id(), chance(stream), usize::MAX);
                // On many CPUs until that has been seen often, however the host deals them out.
                let mut rounds = 0;
                while rounds < param("rounds", 2000) || (MOVES.load(Relaxed) < 200 && procs > 1) {
                    rounds += 1;
                    match rng.below(8) {
                        0 => sleep(Duration::from_nanos(1)),
                        1 => drop(base::PreemptGuard::new()),
                        _ => yield_now(),
                    }
                    assert_eq!(current().id(), me);
                    let here = ringo::machine::cpu();
                    if here != cpu {
                        bump(&MOVES);
                    }
                    cpu = here;
                }
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    figure!("moves", MOVES.load(Relaxed));
    Ok(())
}

/// The lowest level: `gopark` whose commit makes the G visible to a waker on another CPU that readies it at once, and
/// one whose commit says no.
fn life_park_ready() -> Outcome {
    use base::{Rank, SpinLock};
    static SLOT: SpinLock<Option<sched::GRef>> = SpinLock::new(Rank::Channel, None);
    static WOKEN: AtomicU64 = AtomicU64::new(0);
    let rounds = param("rounds", 20_000);
    let waker = spawn(move || {
        while WOKEN.load(Acquire) < rounds {
            let g = SLOT.lock().take();
            match g {
                Some(g) => {
                    bump(&WOKEN);
                    sched::goready(g)
                }
                None if sched::gomaxprocs() == 1 => yield_now(),
                None => core::hint::spin_loop(),
            }
        }
    });
    for n in 0..rounds {
        let mut slot = SLOT.lock();
        *slot = Some(sched::current());
        sched::park_unlock(slot, sched::WaitReason::Select);
        ensure!(
            WOKEN.load(Acquire) == n + 1,
            "back without having been woken, round {n}"
        );
    }
    waker.join();
    unsafe fn refuse(_: sched::GRef, _: usize) -> bool {
        false
    }
    for _ in 0..1000 {
        let commit = sched::Commit { f: refuse, arg: 0 };
        // SAFETY: `refuse` uses nothing, and the G does not wait.
        unsafe { sched::gopark(base::PreemptGuard::new(), sched::WaitReason::Select, commit) };
    }
    figure!("parks", rounds);
    Ok(())
}
