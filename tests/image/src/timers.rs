//! Sleepers.

use crate::param::param;
use crate::wait::{bump, chance, spin};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::machine::counts;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("timers_many", timers_many),
    ("timers_order", timers_order),
    ("timers_behind_hogs", timers_behind_hogs),
    ("timers_zero_and_max", timers_zero_and_max),
    ("timers_long", timers_long),
    ("timers_clock", timers_clock),
    ("timers_prompt", timers_prompt),
    ("idle", idle),
];

/// Thousands at once, of all lengths: each wakes, none early.
fn timers_many() -> Outcome {
    static EARLY: AtomicU64 = AtomicU64::new(0);
    let n = param("gs", 3000);
    let gs: Vec<_> = (0..n)
        .map(|i| {
            spawn(move || {
                let mut rng = chance(i);
                for _ in 0..3 {
                    let ns = u64::from(rng.below([1_000, 100_000, 20_000_000][i as usize % 3]));
                    let begin = sched::now_ns();
                    sched::sleep_ns(ns);
                    if sched::now_ns() - begin < ns {
                        bump(&EARLY);
                    }
                }
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    figure!("sleeps", 3 * n);
    figure!("timers", counts().timers);
    ensure!(
        EARLY.load(Relaxed) == 0,
        "{} woke early",
        EARLY.load(Relaxed)
    );
    ensure!(
        counts().timers >= 2 * n,
        "only {} timers fired",
        counts().timers
    );
    Ok(())
}

/// Sleepers of one P are woken in the order of their deadlines.
fn timers_order() -> Outcome {
    static ORDER: base::SpinLock<Vec<(u64, u64)>> =
        base::SpinLock::new(base::Rank::Channel, Vec::new());
    let n = param("gs", 200);
    let base_ns = sched::now_ns() + 20_000_000;
    let gs: Vec<_> = (0..n)
        .map(|i| {
            spawn(move || {
                // Shuffled; some are equal.
                let when = base_ns + (i * 7919 % n) / 2 * 10_000;
                sched::sleep_until_ns(when);
                ORDER.lock().push((when, i));
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    let order = core::mem::take(&mut *ORDER.lock());
    let inversions = order.windows(2).filter(|w| w[0].0 > w[1].0).count();
    figure!("inversions", inversions);
    ensure!(order.len() as u64 == n, "{} of {n} woke", order.len());
    // Woken in order, they run in order on one P: `runnext` may turn neighbours about.
    ensure!(
        sched::gomaxprocs() > 1 || inversions <= n as usize / 4,
        "{inversions} inversions"
    );
    Ok(())
}

/// Go #38860: a thousand timers on a P that a hog then keeps.
fn timers_behind_hogs() -> Outcome {
    static FIRED: AtomicU64 = AtomicU64::new(0);
    let n = param("gs", 1000);
    let hogs = sched::gomaxprocs().max(2) - 1;
    let h = spawn(move || {
        for i in 0..n {
            go(move || {
                sleep(Duration::from_micros(500 + i));
                bump(&FIRED);
            });
        }
        (0..100).for_each(|_| yield_now());
    });
    h.join();
    for _ in 0..hogs {
        go(|| {
            while FIRED.load(Relaxed) < param("gs", 1000) {
                spin(100);
                // Where nothing takes the CPU away it has to be given, on one P.
                if sched::gomaxprocs() == 1 && !crate::wait::preempts() {
                    yield_now()
                }
            }
        });
    }
    while FIRED.load(Relaxed) < n {
        sleep(Duration::from_millis(1))
    }
    figure!("fired", n);
    Ok(())
}

/// Go: SleepZeroDeadlock, OverflowSleep.
fn timers_zero_and_max() -> Outcome {
    for _ in 0..1000 {
        sleep(Duration::ZERO);
    }
    for d in [
        Duration::MAX,
        Duration::from_nanos(u64::MAX),
        Duration::from_nanos(u64::MAX / 2),
    ] {
        go(move || {
            sleep(d);
            panic!("a sleep of {d:?} ended")
        });
    }
    for _ in 0..50 {
        sleep(Duration::from_micros(300));
    }
    ensure!(num_goroutine() == 4, "{} goroutines", num_goroutine());
    Ok(())
}

/// Longer than the timer's counter reaches at once, where it is a fast one: armed again on the way, and not early.
fn timers_long() -> Outcome {
    let ms = param("ms", 5000);
    let begin = Instant::now();
    sleep(Duration::from_millis(ms));
    ensure!(
        begin.elapsed() >= Duration::from_millis(ms),
        "woke after {:?}",
        begin.elapsed()
    );
    Ok(())
}

/// The clock never goes back, on whatever CPU it is read.
fn timers_clock() -> Outcome {
    static LATEST: AtomicU64 = AtomicU64::new(0);
    static BACK: AtomicU64 = AtomicU64::new(0);
    let gs: Vec<_> = (0..2 * sched::gomaxprocs() as u64)
        .map(|_| {
            spawn(|| {
                for i in 0..param("reads", 20_000) {
                    let seen = LATEST.load(Acquire);
                    let now = sched::now_ns();
                    if now < seen {
                        bump(&BACK);
                    }
                    LATEST.fetch_max(now, AcqRel);
                    if i % 64 == 0 {
                        yield_now()
                    }
                }
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    ensure!(
        BACK.load(Relaxed) == 0,
        "it went back {} times",
        BACK.load(Relaxed)
    );
    Ok(())
}

/// rcore PR 912: a timer that fires while its CPU halts is served at once, not at some later tick. In virtual time only is
/// that the kernel's own.
fn timers_prompt() -> Outcome {
    let mut late_ns: Vec<u64> = (0..param("sleeps", 100))
        .map(|i| {
            let due_ns = sched::now_ns() + 300_000 + i * 1000;
            sched::sleep_until_ns(due_ns);
            sched::now_ns() - due_ns
        })
        .collect();
    late_ns.sort_unstable();
    let (median, worst) = (late_ns[late_ns.len() / 2], late_ns[late_ns.len() - 1]);
    figure!("median_ns", median);
    figure!("worst_ns", worst);
    let strict = ringo::start::config().seed.is_some();
    ensure!(!strict || worst < 20_000, "woke {worst} ns late");
    Ok(())
}

/// Nothing to do for a while. The harness looks at what QEMU uses meanwhile.
fn idle() -> Outcome {
    let halts = counts().halts;
    sleep(Duration::from_millis(param("ms", 2000)));
    figure!("halts", counts().halts - halts);
    Ok(())
}
