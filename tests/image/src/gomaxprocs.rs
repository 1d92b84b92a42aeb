//! The number of Ps changes under load. Go: proc_test.go, and the bug reports named at each test.

use crate::param::param;
use crate::wait::{bump, chance, meet, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("gomaxprocs_big", gomaxprocs_big),
    ("gomaxprocs_random", gomaxprocs_random),
    ("gomaxprocs_tickers", gomaxprocs_tickers),
    ("gomaxprocs_queues", gomaxprocs_queues),
];

/// Go: BigGOMAXPROCS. More than there are CPUs is cut to them, 0 asks, the answer is what was before.
fn gomaxprocs_big() -> Outcome {
    let cpus = num_cpu();
    for n in [1024, usize::MAX, 1, cpus, cpus + 1, 0] {
        let was = gomaxprocs(0);
        let before = gomaxprocs(n);
        ensure!(before == was, "gomaxprocs({n}) says {before}, not {was}");
        let want = if n == 0 { was } else { n.min(cpus) };
        ensure!(
            gomaxprocs(0) == want,
            "{} Ps after gomaxprocs({n})",
            gomaxprocs(0)
        );
        meet(want as u64);
    }
    Ok(())
}

/// golang/go#36122, bug370 (golang/go#2337): random numbers of Ps, set by two Gs, while others talk, sleep and compute.
/// Nothing hangs, nothing is lost, and at the end every P is as good as before.
fn gomaxprocs_random() -> Outcome {
    let (rounds, cpus) = (param("rounds", 300), num_cpu() as u32);
    static STOP: AtomicBool = AtomicBool::new(false);
    static SENT: AtomicU64 = AtomicU64::new(0);
    static GOT: AtomicU64 = AtomicU64::new(0);
    static SLEPT: AtomicU64 = AtomicU64::new(0);
    let (tx, rx) = chan::<u64>(2);
    let wg = WaitGroup::new();
    for i in 0..6 {
        let tx = tx.clone();
        wg.go(move || {
            let mut rng = chance(i);
            while !STOP.load(Relaxed) {
                tx.send(1).expect("open");
                bump(&SENT);
                spin(rng.below(3000));
            }
        });
        let mut rng = chance(i << 8);
        wg.go(move || {
            while !STOP.load(Relaxed) {
                sleep(Duration::from_nanos(rng.below(100_000).into()));
                bump(&SLEPT);
            }
        });
    }
    drop(tx);
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let rx = rx.clone();
            spawn(move || {
                for n in &rx {
                    GOT.fetch_add(n, Relaxed);
                }
            })
        })
        .collect();
    let changers: Vec<_> = (0..2)
        .map(|c| {
            spawn(move || {
                let mut rng = chance(99 + c);
                for _ in 0..rounds / 2 {
                    gomaxprocs(1 + rng.below(cpus) as usize);
                    spin(rng.below(2000));
                    if rng.below(4) == 0 {
                        sleep(Duration::from_nanos(rng.below(200_000).into()))
                    } else {
                        yield_now()
                    }
                }
            })
        })
        .collect();
    changers.into_iter().for_each(|c| c.join());
    STOP.store(true, Relaxed);
    wg.wait();
    readers.into_iter().for_each(|r| r.join());
    figure!("changes", rounds);
    figure!("sent", SENT.load(Relaxed));
    figure!("slept", SLEPT.load(Relaxed));
    ensure!(
        SENT.load(Relaxed) == GOT.load(Relaxed),
        "{} sent, {} received",
        SENT.load(Relaxed),
        GOT.load(Relaxed)
    );
    ensure!(SLEPT.load(Relaxed) > 0, "nobody slept");
    gomaxprocs(num_cpu());
    meet(num_cpu() as u64);
    ensure!(num_goroutine() == 1, "{} goroutines left", num_goroutine());
    Ok(())
}

/// golang/go#45716: sleepers on all Ps; the number of Ps changes; then nobody does anything any more but the timers. All
/// keep ticking.
fn gomaxprocs_tickers() -> Outcome {
    const TICKERS: usize = 8;
    static TICKS: [AtomicU64; TICKERS] = [const { AtomicU64::new(0) }; TICKERS];
    static STOP: AtomicBool = AtomicBool::new(false);
    let cpus = num_cpu();
    let (told, all_ticked) = chan::<()>(TICKERS);
    for (i, ticks) in TICKS.iter().enumerate() {
        let told = told.clone();
        go(move || {
            let mut rng = chance(i as u64);
            while !STOP.load(Relaxed) {
                sleep(Duration::from_nanos(200_000 + u64::from(rng.below(50_000))));
                // Every third tick is told, once main has asked for it.
                if bump(ticks) % 3 == 2 && told.send(()).is_err() {
                    return;
                }
            }
        });
    }
    let mut rng = chance(77);
    for round in 0..param("rounds", 60) {
        // Spread them over the Ps that there are, by work that thieves take.
        if round % 4 == 0 {
            let gs: Vec<_> = (0..4 * cpus).map(|_| spawn(|| spin(5_000))).collect();
            gs.into_iter().for_each(|g| g.join());
        }
        gomaxprocs(1 + rng.below(cpus as u32) as usize);
        for _ in 0..TICKERS {
            all_ticked.recv().ok_or("the tickers are gone")?;
        }
    }
    STOP.store(true, Relaxed);
    let ticks: Vec<u64> = TICKS.iter().map(|t| t.load(Relaxed)).collect();
    figure!("ticks", ticks.iter().sum::<u64>());
    ensure!(ticks.iter().all(|n| *n > 0), "some never ticked: {ticks:?}");
    drop(all_ticked);
    gomaxprocs(cpus);
    until(|| num_goroutine() == 1);
    Ok(())
}

/// Go: procresize. Queues of Ps that go away are run by those that stay: each G once.
fn gomaxprocs_queues() -> Outcome {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let (rounds, each) = (param("rounds", 40), 500);
    let cpus = num_cpu();
    for round in 0..rounds {
        let makers: Vec<_> = (0..cpus)
            .map(|_| {
                spawn(move || {
                    for i in 0..each {
                        go(move || {
                            spin(i % 300);
                            bump(&RAN);
                        });
                    }
                })
            })
            .collect();
        gomaxprocs(1 + round as usize % cpus);
        makers.into_iter().for_each(|m| m.join());
        gomaxprocs(1 + (round as usize + 1) % cpus);
        let want = (round + 1) * (cpus * each as usize) as u64;
        until(|| RAN.load(Acquire) >= want);
        ensure!(
            RAN.load(SeqCst) == want,
            "{} ran of {want}",
            RAN.load(SeqCst)
        );
    }
    figure!("gs", RAN.load(Relaxed));
    Ok(())
}
