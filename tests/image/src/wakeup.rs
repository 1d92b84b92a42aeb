//! Wake-up preemption: who is woken by the clock runs soon, and the others keep what is theirs.
//!
//! Lateness and shares are judged in virtual time only (`--seed`); elsewhere they are printed.

use crate::late::{at, lateness_us};
use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use ringo::machine::{counts, slice, wakes_preempt};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("wakeup_hogs", wakeup_hogs),
    ("wakeup_half", wakeup_half),
    ("wakeup_shares", wakeup_shares),
    ("wakeup_batch", wakeup_batch),
    ("wakeup_min_run", wakeup_min_run),
    ("wakeup_yielders", wakeup_yielders),
];

fn strict() -> bool {
    ringo::start::config().seed.is_some()
}

/// A loop without a call that counts its rounds.
fn hog(rounds: &'static AtomicU64) {
    let mut n = 0u64;
    loop {
        for _ in 0..100 {
            core::hint::black_box(n);
        }
        n += 1;
        rounds.store(n, Relaxed)
    }
}

/// Computes for about `time`.
fn busy(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        core::hint::spin_loop()
    }
}

/// A sleeper of 1 ms beside hogs. With `wakeup=off` it waits for slices to end.
fn wakeup_hogs() -> Outcome {
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    for _ in 0..gomaxprocs(0) as u64 * param("hogs", 2) {
        go(|| hog(&ROUNDS));
    }
    let late = lateness_us(param("ticks", 200), Duration::from_millis(1));
    figure!("median_us", at(&late, 50));
    figure!("p99_us", at(&late, 99));
    figure!("gave_way", counts().gave_way);
    let median = at(&late, 50);
    if wakes_preempt() {
        ensure!(!strict() || median < 300, "median lateness of {median} us");
        ensure!(counts().gave_way > 0, "nobody gave way");
    } else {
        let half_slice = slice().as_micros() as u64 / 2;
        ensure!(
            !strict() || median > half_slice,
            "median lateness of {median} us without wake-up preemption"
        );
        ensure!(counts().gave_way == 0, "{} gave way", counts().gave_way);
    }
    Ok(())
}

/// Sleepers that want far more than the whole P: the hog keeps about half of it.
fn wakeup_half() -> Outcome {
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    go(|| hog(&ROUNDS));
    let span = slice() * 20;
    sleep(span);
    let alone = ROUNDS.load(Relaxed);
    for _ in 0..10 {
        go(|| {
            while !STOP.load(Relaxed) {
                sleep(Duration::from_micros(500));
                busy(Duration::from_micros(300))
            }
        });
    }
    let before = ROUNDS.load(Relaxed);
    let begin = Instant::now();
    sleep(span);
    let took = begin.elapsed();
    // The host may not have let the hog's CPU run for all that time. If the hog stands still this never ends.
    while ROUNDS.load(Relaxed) == before {
        sleep(slice())
    }
    let beside = ROUNDS.load(Relaxed) - before;
    STOP.store(true, Relaxed);
    let share = beside as f64 / alone as f64 * (span.as_secs_f64() / took.as_secs_f64());
    figure!("hog_percent", (share * 100.0) as u64);
    figure!("gave_way", counts().gave_way);
    ensure!(
        !strict() || (0.40..0.75).contains(&share),
        "the hog got {share:.2} of its P"
    );
    Ok(())
}

/// Two hogs and a sleeper that wakes all the time: slices go on, and the hogs share alike.
fn wakeup_shares() -> Outcome {
    static ROUNDS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    for rounds in &ROUNDS {
        go(|| hog(rounds));
    }
    let slices = param("slices", 60) as u32;
    let end = Instant::now() + slice() * slices;
    let enough = u64::from(slices / 4);
    // Slices go on, or this never ends: how many fit into a time is the host's affair.
    while Instant::now() < end || !strict() && counts().preemptions < enough {
        sleep(Duration::from_micros(700))
    }
    let [a, b] = [ROUNDS[0].load(Relaxed), ROUNDS[1].load(Relaxed)];
    let least = a.min(b) * 200 / (a + b).max(1);
    figure!("least_percent_of_mean", least);
    figure!("preemptions", counts().preemptions);
    ensure!(
        counts().preemptions >= enough,
        "{} slices were over in {slices}",
        counts().preemptions
    );
    ensure!(!strict() || least >= 80, "shares of {a} and {b}");
    Ok(())
}

/// Many that wake at one instant run one after another, before the hogs.
fn wakeup_batch() -> Outcome {
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    for _ in 0..2 * gomaxprocs(0) {
        go(|| hog(&ROUNDS));
    }
    let mut worst = Vec::new();
    for _ in 0..param("rounds", 10) {
        let due = Instant::now() + Duration::from_millis(3);
        let gs: Vec<_> = (0..20)
            .map(|_| {
                spawn(move || {
                    sleep(due - Instant::now());
                    Instant::now() - due
                })
            })
            .collect();
        let late = gs.into_iter().map(JoinHandle::join).max();
        worst.push(late.unwrap_or_default().as_micros() as u64)
    }
    worst.sort_unstable();
    figure!("median_of_worst_us", at(&worst, 50));
    ensure!(
        !strict() || at(&worst, 50) < 1_000,
        "the last of 20 that woke together was {} us late",
        at(&worst, 50)
    );
    Ok(())
}

/// Nobody gives way before it has had its minimum run.
fn wakeup_min_run() -> Outcome {
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    go(|| hog(&ROUNDS));
    let min_run = Duration::from_micros(ringo::start::config().min_run_us.into());
    let begin = Instant::now();
    let late = lateness_us(param("ticks", 200), Duration::from_micros(200));
    let most = begin.elapsed().as_nanos() / min_run.as_nanos().max(1) + 1;
    let gave_way = u128::from(counts().gave_way);
    figure!("median_us", at(&late, 50));
    figure!("gave_way", gave_way);
    ensure!(gave_way > 0, "nobody gave way");
    ensure!(
        gave_way <= most,
        "{gave_way} times a hog gave way, where {most} minimum runs have room"
    );
    Ok(())
}

/// Those that give way by themselves are not starved by sleepers that take a P's whole time.
fn wakeup_yielders() -> Outcome {
    static TURNS: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    go(|| {
        while !STOP.load(Relaxed) {
            TURNS.fetch_add(1, Relaxed);
            yield_now()
        }
    });
    let sleepers: Vec<_> = (0..20 * gomaxprocs(0))
        .map(|_| {
            spawn(|| {
                while !STOP.load(Relaxed) {
                    sleep(Duration::from_micros(50));
                    busy(Duration::from_micros(50))
                }
            })
        })
        .collect();
    let before = TURNS.load(Relaxed);
    for _ in 0..20 {
        sleep(slice())
    }
    // Who is starved never gets there; whose CPU the host took away does.
    while !strict() && TURNS.load(Relaxed) < before + 20 {
        sleep(slice())
    }
    let turns = TURNS.load(Relaxed) - before;
    STOP.store(true, Relaxed);
    sleepers.into_iter().for_each(JoinHandle::join);
    figure!("turns", turns);
    ensure!(turns >= 20, "{turns} turns in 20 slices");
    Ok(())
}
