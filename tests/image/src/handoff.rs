//! Blocking calls, and what becomes of the P. Go: proc.go (`retake`, `handoffp`), and the bug reports named at each test.

use crate::param::param;
use crate::wait::{all_ps_meet, bump, chance, hold_until, others_halt, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("handoff_retake", handoff_retake),
    ("handoff_runnext", handoff_runnext),
    ("handoff_storm", handoff_storm),
    ("handoff_tick_taken", handoff_tick_taken),
    ("handoff_woken_before", handoff_woken_before),
    ("handoff_seen_from_call", handoff_seen_from_call),
    ("handoff_tray", handoff_tray),
];

/// With fewer Ps than CPUs: a G blocks its CPU for as long as another has not run, which only its own P can run. What
/// passes between the loss of the P and that G's first instruction is printed.
fn handoff_retake() -> Outcome {
    let rounds = param("rounds", 100);
    let p0 = || sched::this().allp[0].is_running();
    ensure!(
        sched::gomaxprocs() == 1 && num_cpu() > 1,
        "this is for one P on several CPUs"
    );
    let mut times: Vec<u64> = Vec::new();
    for _ in 0..rounds {
        let ran_ns = Arc::new(AtomicU64::new(0));
        let theirs = ran_ns.clone();
        go(move || theirs.store(sched::now_ns(), Release));
        let lost_ns = blocking(|| {
            while p0() && ran_ns.load(Acquire) == 0 {
                core::hint::spin_loop()
            }
            let lost_ns = sched::now_ns();
            while ran_ns.load(Acquire) == 0 {
                core::hint::spin_loop()
            }
            lost_ns
        });
        // Where this CPU did not see the moment of the loss there is nothing to measure.
        if let Some(ns) = ran_ns.load(Acquire).checked_sub(lost_ns) {
            times.push(ns)
        }
    }
    times.sort_unstable();
    figure!("handoffs", rounds);
    figure!("seen", times.len());
    if let Some(median) = times.get(times.len() / 2) {
        figure!("median_ns", median);
        figure!("worst_ns", times[times.len() - 1]);
    }
    Ok(())
}

/// tokio #6596: a G readies another, which lands in `runnext`, and blocks its CPU at once. The other runs elsewhere.
fn handoff_runnext() -> Outcome {
    let rounds = param("rounds", 150);
    let ran = Arc::new(AtomicU64::new(0));
    let (ball, theirs) = chan::<u64>(1);
    let seen = ran.clone();
    let b = spawn(move || {
        while let Some(n) = theirs.recv() {
            seen.store(n, Release);
        }
    });
    for n in 1..=rounds {
        ball.send(n).expect("open");
        blocking(|| {
            while ran.load(Acquire) != n {
                core::hint::spin_loop()
            }
        });
    }
    ball.close();
    b.join();
    figure!("rounds", rounds);
    Ok(())
}

/// Calls of all lengths by more Gs than there are Ps, beside Gs that compute, talk and sleep. All come to their ends, and
/// afterwards every P is as good as before.
fn handoff_storm() -> Outcome {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    static ENDED: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    let (each, procs) = (param("each", 80), sched::gomaxprocs() as u64);
    let (tx, rx) = chan::<u64>(1);
    let talkers: Vec<_> = [true, false]
        .into_iter()
        .map(|sends| {
            let (tx, rx) = (tx.clone(), rx.clone());
            spawn(move || {
                while !STOP.load(Relaxed) {
                    if sends {
                        _ = tx.try_send(1);
                    } else {
                        _ = rx.try_recv();
                    }
                    yield_now();
                    sleep(Duration::from_nanos(100))
                }
            })
        })
        .collect();
    let gs: Vec<_> = (0..2 * procs + 2)
        .map(|i| {
            spawn(move || {
                let mut rng = chance(i);
                for _ in 0..each {
                    let most = [100, 5_000, 400_000][rng.below(8).saturating_sub(5) as usize];
                    let n = rng.below(most);
                    blocking(|| {
                        spin(n);
                        if n.is_multiple_of(3) {
                            bump(&BEGUN);
                            go(|| _ = bump(&ENDED))
                        }
                    });
                    bump(&CALLS);
                    match rng.below(8) {
                        0 => sleep(Duration::from_nanos(rng.below(30_000).into())),
                        1 => yield_now(),
                        _ => spin(rng.below(500)),
                    }
                }
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    STOP.store(true, Relaxed);
    talkers.into_iter().for_each(|t| t.join());
    all_ps_meet();
    until(|| ENDED.load(Relaxed) == BEGUN.load(Relaxed)); // those that were started in calls
    figure!("calls", CALLS.load(Relaxed));
    Ok(())
}

/// Somebody in a blocking call, who has no P, takes the tick for want of which a ticker rests: the next one comes during the call,
/// whatever the other CPU does.
fn handoff_tick_taken() -> Outcome {
    ensure!(sched::gomaxprocs() == 2, "this is for two Ps");
    // The G on the first P in the call, the other one busy; that one in it, the first P idle; the other way round.
    for (first, alone) in [(true, false), (false, true), (true, true)] {
        // They may be moved while they choose: then nobody was where he was to be.
        while !tick_is_taken(first, alone) {}
    }
    Ok(())
}

/// Two Gs on two Ps, and the one on the P that is wanted makes the call, if there is one. `alone`: the other one ends before.
fn tick_is_taken(first: bool, alone: bool) -> bool {
    let (come, gone) = (AtomicU64::new(0), AtomicU64::new(0));
    let (taken, over) = (AtomicBool::new(false), AtomicBool::new(false));
    scope(|s| {
        for _ in 0..2 {
            s.go(|| {
                bump(&come);
                hold_until(|| come.load(Acquire) == 2);
                if on_first_p() == first && !taken.swap(true, AcqRel) {
                    if alone {
                        others_halt()
                    }
                    two_ticks_in_a_call();
                    over.store(true, Release)
                } else {
                    bump(&gone);
                    let neither = || gone.load(Acquire) == 2;
                    if !alone {
                        hold_until(|| over.load(Acquire) || neither())
                    }
                }
            });
        }
    });
    taken.load(Acquire)
}

fn on_first_p() -> bool {
    let guard = base::PreemptGuard::new();
    sched::M::current(&guard).p().is_some_and(|p| p.id() == 0)
}

fn two_ticks_in_a_call() {
    let ticker = Ticker::new(Duration::from_millis(1));
    let timers_rest = || sched::this().allp.iter().all(|p| p.timers.is_empty());
    hold_until(timers_rest);
    blocking(|| (0..2).for_each(|_| hold_until(|| ticker.receiver().try_recv().is_ok())))
}

/// Somebody is woken while the running G is too young to give way, and that G makes a blocking call: the time at which it was to be
/// looked at again passes in the call, and must not interrupt it for ever.
fn handoff_woken_before() -> Outcome {
    let rounds = param("rounds", 200);
    let stop = Arc::new(AtomicBool::new(false));
    let sleepers: Vec<_> = (0..3u64)
        .map(|i| {
            let stop = stop.clone();
            spawn(move || {
                let mut times = 0u64;
                while !stop.load(Relaxed) {
                    sleep(Duration::from_micros(30 + 20 * i));
                    times += 1
                }
                times
            })
        })
        .collect();
    let mut rng = chance(7);
    let (mut calls_us, mut sum) = (0, 0);
    for _ in 0..rounds {
        yield_now(); // a run of its own begins
        spin(rng.below(20_000));
        let (before, begin) = (interrupts(), Instant::now());
        blocking(|| spin(100_000 + rng.below(200_000)));
        sum += interrupts() - before;
        calls_us += begin.elapsed().as_micros() as u64
    }
    figure!("interrupts", sum);
    figure!("calls_us", calls_us);
    // Sysmon's, the sleepers', one for each half millisecond: not one after the other.
    let most = 4 * rounds + calls_us / 100;
    ensure!(
        num_cpu() > 1 || sum <= most,
        "{sum} interrupts in {calls_us} us of calls"
    );
    stop.store(true, Relaxed);
    let times: u64 = sleepers.into_iter().map(|s| s.join()).sum();
    figure!("woken", times);
    ensure!(times != 0, "nobody was woken");
    Ok(())
}

/// Interrupts of all CPUs so far.
#[cfg(ringo_kernel)]
fn interrupts() -> u64 {
    (0..num_cpu())
        .map(|cpu| arch::bare::bare_stats(cpu).interrupts)
        .sum()
}
/// There are none on the host machine.
#[cfg(not(ringo_kernel))]
fn interrupts() -> u64 {
    0
}

/// sysmon is CPU 0's work, in a blocking call as well: one that began to rest there, since all Ps were idle, sees the next call.
fn handoff_seen_from_call() -> Outcome {
    ensure!(
        sched::gomaxprocs() == 1 && num_cpu() > 2,
        "this is for one P on three CPUs"
    );
    let rounds = param("rounds", 5);
    for round in 0..rounds {
        lock_to_cpu_0();
        const UNDER_WAY: u64 = 0;
        const TAKEN: u64 = 1;
        const KEPT: u64 = 2;
        let verdict = Arc::new(AtomicU64::new(UNDER_WAY));
        let theirs = verdict.clone();
        go(move || {
            sleep(Duration::from_millis(50));
            let ran = Arc::new(AtomicBool::new(false));
            let own = ran.clone();
            go(move || own.store(true, Release));
            let end_ns = sched::now_ns() + 5_000_000_000;
            let taken = blocking(|| {
                while !ran.load(Acquire) && sched::now_ns() < end_ns {
                    core::hint::spin_loop()
                }
                ran.load(Acquire)
            });
            theirs.store(if taken { TAKEN } else { KEPT }, Release)
        });
        blocking(|| {
            while verdict.load(Acquire) == UNDER_WAY {
                core::hint::spin_loop()
            }
        });
        unlock_from_cpu();
        ensure!(
            verdict.load(Acquire) == TAKEN,
            "round {round}: the P of a call was never taken"
        );
    }
    figure!("rounds", rounds);
    Ok(())
}

fn lock_to_cpu_0() {
    loop {
        lock_to_cpu();
        if ringo::machine::cpu() == 0 {
            return;
        }
        unlock_from_cpu();
        yield_now()
    }
}

/// A locked goroutine becomes runnable while its CPU is in a blocking call: it goes first when that ends, and does not wait until
/// the caller parks.
fn handoff_tray() -> Outcome {
    let rounds = param("rounds", 20);
    let mut late = 0;
    for _ in 0..rounds {
        let (home, ran) = (
            Arc::new(AtomicU64::new(u64::MAX)),
            Arc::new(AtomicBool::new(false)),
        );
        let (tx, rx) = chan::<()>(1);
        let (theirs, told) = (home.clone(), ran.clone());
        let locked = spawn(move || {
            lock_to_cpu();
            theirs.store(ringo::machine::cpu() as u64, Release);
            rx.recv();
            told.store(true, Release);
            unlock_from_cpu()
        });
        hold_until(|| home.load(Acquire) != u64::MAX);
        let home = home.load(Acquire);
        let (began, sent) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (begins, sends) = (began.clone(), sent.clone());
        let caller = spawn(move || {
            // Beside the locked one, or in its way: on the same CPU.
            while ringo::machine::cpu() as u64 != home {
                yield_now()
            }
            blocking(|| {
                begins.store(true, Release);
                while !sends.load(Acquire) {
                    core::hint::spin_loop()
                }
            });
            // Elsewhere it was taken by the other CPU while the locked one went first.
            ringo::machine::cpu() as u64 == home && !ran.load(Acquire)
        });
        hold_until(|| began.load(Acquire));
        let sent_one = tx.send(());
        ensure!(sent_one.is_ok(), "nobody receives");
        // Delivered by who looks for work, which is this CPU: the other one is in the call.
        (0..50).for_each(|_| yield_now());
        sent.store(true, Release);
        late += u64::from(caller.join());
        locked.join()
    }
    // Where a slice has just ended the others go first: whose it was may be the locked one's.
    ensure!(
        2 * late < rounds,
        "in {late} of {rounds} rounds the caller went on, and the locked one waited for its CPU"
    );
    figure!("late", late);
    figure!("rounds", rounds);
    Ok(())
}
