//! Who runs when: fairness, parallelism, slices. Go: proc_test.go and the bug reports named at each test.

use crate::param::param;
use crate::wait::{bump, chance, hold_until, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::{counts, slice};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("fair_parallelism", fair_parallelism),
    ("fair_timer", fair_timer),
    ("fair_preemption", fair_preemption),
    ("fair_yield_progress", fair_yield_progress),
    ("fair_chain", fair_chain),
    ("fair_pair_and_timer", fair_pair_and_timer),
    ("fair_pair_and_third", fair_pair_and_third),
    ("fair_behind_a_hog", fair_behind_a_hog),
    ("fair_thousand_behind_a_hog", fair_thousand_behind_a_hog),
    ("fair_yielders_and_ticker", fair_yielders_and_ticker),
    ("fair_starve", fair_starve),
    ("fair_shares", fair_shares),
    ("fair_spread", fair_spread),
];

/// Go: GoroutineParallelism. Each P's G waits, holding its CPU, for its turn of a baton that all the others carry too.
fn fair_parallelism() -> Outcome {
    static BATON: AtomicU64 = AtomicU64::new(0);
    let procs = sched::gomaxprocs() as u64;
    let laps = param("laps", 200);
    for _ in 0..10 {
        BATON.store(0, SeqCst);
        let gs: Vec<_> = (0..procs)
            .map(|me| {
                spawn(move || {
                    for lap in 0..laps {
                        hold_until(|| BATON.load(Acquire) == lap * procs + me);
                        BATON.fetch_add(1, Release);
                    }
                })
            })
            .collect();
        gs.into_iter().for_each(|g| g.join());
        ensure!(BATON.load(SeqCst) == laps * procs, "the baton was lost");
    }
    figure!("turns", 10 * laps * procs);
    Ok(())
}

/// Go: TimerFairness. Two senders keep a channel ready all the time; a sleeper wakes nevertheless.
fn fair_timer() -> Outcome {
    let (tx, rx) = chan::<u32>(0);
    for _ in 0..2 {
        let tx = tx.clone();
        go(move || while tx.send(1).is_ok() {});
    }
    let awake = Arc::new(AtomicBool::new(false));
    let theirs = awake.clone();
    go(move || {
        sleep(Duration::from_millis(20));
        theirs.store(true, Relaxed)
    });
    let mut got = 0u64;
    while !awake.load(Relaxed) {
        got += rx.recv().map_or(0, u64::from);
    }
    figure!("received", got);
    Ok(())
}

/// Go: Preemption. Two Gs hold the one P until it is the other's turn.
fn fair_preemption() -> Outcome {
    static TURN: AtomicU64 = AtomicU64::new(0);
    let turns = param("turns", 100);
    let gs: Vec<_> = (0..2)
        .map(|me| {
            spawn(move || {
                for n in 0..turns {
                    while TURN.load(Acquire) != 2 * n + me {
                        core::hint::spin_loop()
                    }
                    TURN.store(2 * n + me + 1, Release);
                }
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    figure!("preemptions", counts().preemptions);
    Ok(())
}

/// Go: YieldProgress.
fn fair_yield_progress() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let yielder = spawn(|| {
        let mut n = 0u64;
        while !STOP.load(Relaxed) {
            yield_now();
            n += 1;
        }
        n
    });
    let worker = spawn(|| (0..1000).for_each(|_| yield_now()));
    worker.join();
    STOP.store(true, Relaxed);
    figure!("yields", yielder.join());
    Ok(())
}

/// Go #52934: a chain of Gs, each of which starts the next and ends, must not keep its P for ever.
fn fair_chain() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static LINKS: AtomicU64 = AtomicU64::new(0);
    fn link() {
        bump(&LINKS);
        if !STOP.load(Relaxed) {
            go(link)
        }
    }
    let chains = sched::gomaxprocs();
    let turns = Arc::new(AtomicU64::new(0));
    let theirs = turns.clone();
    (0..chains).for_each(|_| go(link));
    let other = spawn(move || {
        until(|| LINKS.load(Relaxed) > 1000);
        for _ in 0..param("turns", 20) {
            bump(&theirs);
            yield_now();
        }
    });
    other.join();
    STOP.store(true, Relaxed);
    figure!("links", LINKS.load(Relaxed));
    figure!("turns", turns.load(Relaxed));
    Ok(())
}

/// A pair that talks over a channel for as long as nobody says stop.
fn chatter() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let (ping, pinged) = chan::<u32>(0);
    let (pong, ponged) = chan::<u32>(0);
    let theirs = stop.clone();
    go(move || {
        while !theirs.load(Relaxed) && ping.send(1).is_ok() {
            ponged.recv();
        }
    });
    go(move || while pinged.recv().is_some() && pong.send(1).is_ok() {});
    stop
}

/// Go #65178, #15706: timers fire although a pair keeps waking each other through `runnext`.
fn fair_pair_and_timer() -> Outcome {
    let pairs: Vec<_> = (0..sched::gomaxprocs()).map(|_| chatter()).collect();
    let ticks = param("ticks", 20);
    let switches = counts().switches;
    for _ in 0..ticks {
        sleep(Duration::from_millis(1));
    }
    pairs.iter().for_each(|stop| stop.store(true, Relaxed));
    figure!("ticks", ticks);
    figure!("switches", counts().switches - switches);
    Ok(())
}

/// tokio #2349, #5686: the pair and a third G that only counts. Each time that the pair loses its slice it is the third
/// one's turn.
fn fair_pair_and_third() -> Outcome {
    let stop = chatter();
    let before = counts().preemptions;
    let turns = param("turns", 60);
    (0..turns).for_each(|_| yield_now());
    let slices = counts().preemptions - before;
    stop.store(true, Relaxed);
    figure!("turns", turns);
    figure!("slices_lost", slices);
    // The fairness check may hand one of the pair a slice of its own now and then.
    ensure!(
        slices <= turns + turns / 10 + 2,
        "{turns} turns while others lost {slices} slices"
    );
    Ok(())
}

/// Go #13546: main gives way again and again until a G has run that waits behind one which never does.
fn fair_behind_a_hog() -> Outcome {
    for _ in 0..param("rounds", 20) {
        let ran = Arc::new(AtomicBool::new(false));
        let theirs = ran.clone();
        go(move || {
            let hidden = theirs.clone();
            go(move || hidden.store(true, Release));
            // Now it is on this P's queue, and this P is not given up until it has run.
            while !theirs.load(Acquire) {
                core::hint::spin_loop()
            }
        });
        until(|| ran.load(Acquire));
    }
    Ok(())
}

/// kotlinx #4752: a thousand ready Gs behind a hog, while the other Ps have yielders of their own for ever.
fn fair_thousand_behind_a_hog() -> Outcome {
    static RAN: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    let n = param("gs", 1000);
    for _ in 1..sched::gomaxprocs() {
        for _ in 0..2 {
            go(|| until(|| STOP.load(Relaxed)));
        }
    }
    let hog = spawn(move || {
        for _ in 0..n {
            go(|| _ = bump(&RAN));
        }
        while RAN.load(Acquire) < n {
            core::hint::spin_loop()
        }
    });
    hog.join();
    STOP.store(true, Relaxed);
    figure!("ran", RAN.load(Relaxed));
    Ok(())
}

/// How late each of `n` sleeps ended, in slices, sorted.
fn lateness(n: u64, each: Duration) -> Vec<f64> {
    let mut late: Vec<f64> = (0..n)
        .map(|_| {
            let due = Instant::now() + each;
            sleep(each);
            (Instant::now() - due).as_secs_f64() / slice().as_secs_f64()
        })
        .collect();
    late.sort_unstable_by(f64::total_cmp);
    late
}

/// Prints the lateness, and fails above `most` slices at the given place of the order.
///
/// Fails in virtual time only, where lateness is the scheduler's and nobody else's.
fn judge(late: &[f64], most: f64, percent: usize) -> Outcome {
    let at = |p: usize| late[(late.len() - 1) * p / 100];
    println!("= median_slices {:.3}", at(50));
    println!("= p90_slices {:.3}", at(90));
    println!("= worst_slices {:.3}", at(100));
    let strict = ringo::start::config().seed.is_some();
    ensure!(
        !strict || at(percent) <= most,
        "{percent} % of the ticks were up to {:.2} slices late",
        at(percent)
    );
    Ok(())
}

/// TinyGo #5525: Gs that always yield, and a ticker.
fn fair_yielders_and_ticker() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    for _ in 0..2 * sched::gomaxprocs() {
        go(|| until(|| STOP.load(Relaxed)));
    }
    let late = lateness(param("ticks", 100), Duration::from_millis(1));
    STOP.store(true, Relaxed);
    judge(&late, 1.0, 90)
}

/// Endless loops without a call on each P: a ticker runs within two slices.
fn fair_starve() -> Outcome {
    for _ in 0..sched::gomaxprocs() as u64 * param("hogs", 1) {
        go(|| {
            loop {
                core::hint::black_box(0);
            }
        });
    }
    let late = lateness(param("ticks", 30), slice() / 2);
    figure!("preemptions", counts().preemptions);
    judge(&late, 2.0, 100)
}

/// Equal loops get equal shares: none has less than half of the mean. But in virtual time a host that keeps one CPU from running may
/// disturb that for a while: then it has to come right as time goes on.
fn fair_shares() -> Outcome {
    const GS: usize = 6;
    static DONE: [AtomicU64; GS] = [const { AtomicU64::new(0) }; GS];
    for done in &DONE {
        go(|| {
            loop {
                spin(100);
                bump(done);
            }
        });
    }
    let slices = param("slices", 150) as u32;
    let strict = ringo::start::config().seed.is_some();
    let (mut least, mut mean, mut done) = (0, 1, Vec::new());
    for _ in 0..if strict { 1 } else { 50 } {
        sleep(slice() * slices);
        done = DONE.iter().map(|d| d.load(Relaxed)).collect();
        mean = done.iter().sum::<u64>() / GS as u64;
        least = done.iter().min().copied().unwrap_or(0);
        if least * 2 >= mean {
            break;
        }
    }
    figure!("least_percent_of_mean", least * 100 / mean.max(1));
    ensure!(least * 2 >= mean, "shares of {GS} equal loops: {done:?}");
    Ok(())
}

/// All work is born on one P: thieves spread it over all Ps, each piece is done once.
fn fair_spread() -> Outcome {
    let procs = sched::gomaxprocs();
    let pieces = param("pieces", 300 * procs as u64);
    let mut rng = chance(4);
    let work: Vec<u32> = (0..pieces).map(|_| 20_000 + rng.below(40_000)).collect();
    let gs: Vec<_> = work
        .into_iter()
        .map(|n| {
            spawn(move || {
                spin(n);
                ringo::machine::cpu()
            })
        })
        .collect();
    let mut by_cpu = alloc::vec![0u64; num_cpu()];
    gs.into_iter().for_each(|g| by_cpu[g.join()] += 1);
    figure!("by_cpu", format!("{by_cpu:?}"));
    figure!("steals", counts().steals);
    ensure!(
        by_cpu.iter().sum::<u64>() == pieces,
        "pieces lost: {by_cpu:?}"
    );
    let worked = by_cpu.iter().filter(|n| **n > 0).count();
    let stealing = ringo::start::config().steal != base::config::Steal::Off;
    ensure!(
        !stealing || worked == procs,
        "{worked} of {procs} Ps worked: {by_cpu:?}"
    );
    Ok(())
}
