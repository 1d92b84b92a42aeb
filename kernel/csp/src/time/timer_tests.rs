//! Go's tests of timers and tickers (time/sleep_test.go, time/tick_test.go), in our words. Deadlines are far enough
//! apart for a busy host, or several tries are made.

use super::{Duration, Instant, Ticker, Timer, after, after_func, sleep};
use crate::{chan, go, never, select};
use alloc::sync::Arc;
use base::Rng;
use sched::testing::run;
use std::sync::atomic::{AtomicU32, Ordering::*};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Go: AfterFunc: a chain of ten, each starts the next.
#[test]
fn after_func_runs_in_a_goroutine_each() {
    run(2, 2, || {
        fn next(left: u32, done: crate::Sender<()>) {
            match left {
                0 => done.send(()).unwrap(),
                _ => drop(after_func(MS, move || {
                    next(left - 1, done.clone());
                    sleep(2 * MS) // it may park
                })),
            }
        }
        let (tx, rx) = chan(0);
        next(10, tx);
        assert_eq!(rx.recv(), Some(()));
    });
}

/// Go: AfterStop, and what Stop reports.
#[test]
fn stop_tells_the_truth() {
    run(2, 2, || {
        let n = Arc::new(AtomicU32::new(0));
        let count = n.clone();
        let never_fires = after_func(20 * MS, move || {
            count.fetch_add(1, Relaxed);
        });
        assert!(never_fires.stop());
        assert!(!never_fires.stop());
        let count = n.clone();
        let fires = after_func(MS, move || {
            count.fetch_add(10, Relaxed);
        });
        sleep(60 * MS);
        assert!(!fires.stop());
        assert_eq!(n.load(Relaxed), 10);
        // Set anew, it runs again.
        assert!(!fires.reset(MS));
        sleep(60 * MS);
        assert_eq!(n.load(Relaxed), 20);
    });
}

/// Go: AfterTick, After: each lasts as long as asked, and the value is the moment of firing.
#[test]
fn after_is_not_early() {
    run(1, 1, || {
        for _ in 0..10 {
            let begin = Instant::now();
            let rx = after(5 * MS);
            sleep(15 * MS);
            let at = rx.recv().unwrap();
            assert!(at - begin >= 5 * MS);
            assert!(
                Instant::now() - at >= MS,
                "the moment of firing, not of receiving"
            );
        }
    });
}

/// Go: AfterQueuing: whatever the order of setting, they fire in the order of their deadlines.
#[test]
fn in_order_of_deadlines() {
    run(2, 2, || {
        let ordered = (0..5).any(|seed| {
            let (tx, rx) = chan(16);
            let mut delays = [5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0];
            let mut rng = Rng::new(seed);
            (1..delays.len()).for_each(|i| delays.swap(i, rng.below(i as u32 + 1) as usize));
            for d in delays {
                let (tx, rx) = (tx.clone(), after(30 * d * MS));
                go(move || tx.send((d, rx.recv().unwrap())).unwrap());
            }
            drop(tx);
            let got: std::vec::Vec<(u32, Instant)> = rx.into_iter().collect();
            got.is_sorted_by_key(|&(d, _)| d) && got.is_sorted_by_key(|&(_, at)| at)
        });
        assert!(ordered);
    });
}

/// Go: Reset, and TestResetResult: a value that was not received is taken back, and reset says so.
#[test]
fn nothing_stale_after_reset_or_stop() {
    run(2, 2, || {
        let timer = Timer::new(HOUR);
        assert!(timer.reset(MS));
        sleep(30 * MS);
        assert_eq!(
            (timer.receiver().len(), timer.receiver().capacity()),
            (0, 0)
        );
        assert!(timer.reset(HOUR), "fired, but not received");
        assert!(timer.receiver().try_recv().is_err());
        assert!(timer.reset(MS));
        sleep(30 * MS);
        assert!(timer.stop(), "fired, but not received");
        assert!(timer.receiver().try_recv().is_err());
        assert!(!timer.reset(MS));
        timer.recv();
        assert!(!timer.stop());
    });
}

/// golang/go #47329: a timer that is set to an earlier time fires then.
#[test]
fn moved_earlier_and_later() {
    run(2, 2, || {
        let timer = Timer::new(HOUR);
        for _ in 0..20 {
            let begin = Instant::now();
            assert!(timer.reset(HOUR));
            assert!(timer.reset(2 * MS));
            assert!(timer.reset(4 * MS)); // later: its entry fires early and goes back
            timer.recv();
            assert!(begin.elapsed() >= 4 * MS);
            assert!(begin.elapsed() < HOUR / 2);
            timer.reset(HOUR);
        }
    });
}

/// Go: AdjustTimers: stop, reset and new ones at random, each answer checked.
#[test]
fn random_changes() {
    run(2, 2, || {
        let mut rng = Rng::new(7);
        let mut timers = std::vec::Vec::new();
        let mut inactive = std::vec::Vec::new();
        let end = Instant::now() + 300 * MS;
        let pick = |rng: &mut Rng, v: &mut std::vec::Vec<Timer>| {
            let i = rng.below(v.len() as u32) as usize;
            v.swap_remove(i)
        };
        while Instant::now() < end {
            match rng.below(4) {
                0 => timers.push(Timer::new(HOUR + rng.below(1000) * MS)),
                1 if !timers.is_empty() => {
                    let t = pick(&mut rng, &mut timers);
                    assert!(t.stop());
                    inactive.push(t)
                }
                2 if !timers.is_empty() => {
                    let t = pick(&mut rng, &mut timers);
                    assert!(t.reset(HOUR / 2 + rng.below(1_800_000) * MS));
                    timers.push(t)
                }
                3 if !inactive.is_empty() => {
                    let t = pick(&mut rng, &mut inactive);
                    assert!(!t.reset(HOUR));
                    timers.push(t)
                }
                _ => {}
            }
        }
    });
}

/// Stopped timers go out of the heap although their time is far away, and a stopped timer keeps no deadlock hidden.
#[test]
fn stopped_ones_do_not_pile_up() {
    run(1, 1, || {
        let pending = || {
            sched::this()
                .allp
                .iter()
                .map(|p| p.timers.len())
                .sum::<u32>()
        };
        for _ in 0..10_000 {
            drop(after(HOUR));
            let ticker = Ticker::new(HOUR);
            drop(ticker)
        }
        assert!(pending() < 200, "{} entries", pending());
    });
}

/// Go: Ticker, NewTickerLtZero, TickerReset.
#[test]
fn ticker_keeps_its_beat() {
    run(2, 2, || {
        let period = 10 * MS;
        // A busy host may be late: the mean of ten, five tries.
        let right = (0..5).any(|_| {
            let begin = Instant::now();
            let ticker = Ticker::new(period);
            for _ in 0..10 {
                ticker.recv();
            }
            let mean = begin.elapsed() / 10;
            mean >= period * 9 / 10 && mean < period * 13 / 10
        });
        assert!(right);
        let ticker = Ticker::new(HOUR);
        ticker.reset(MS);
        ticker.recv();
        ticker.stop();
        sleep(5 * MS);
        assert!(ticker.receiver().try_recv().is_err());
        // Missed ticks are left out.
        ticker.reset(2 * MS);
        sleep(50 * MS);
        ticker.recv();
        assert!(ticker.receiver().try_recv().is_err());
    });
}

#[test]
#[should_panic(expected = "a ticker's period is zero")]
fn ticker_of_nothing() {
    Ticker::new(Duration::ZERO);
}

/// Go: OverflowRuntimeTimer, LongSleep: durations beyond all bounds neither fire nor keep others from firing.
#[test]
fn endless_ones_do_not_disturb() {
    run(1, 1, || {
        let far = Timer::new(Duration::MAX);
        let near = Timer::new(MS);
        near.recv();
        assert!(far.receiver().try_recv().is_err());
        assert!(far.stop());
    });
}

/// `select!` with a timeout: the others go first, then time.
#[test]
fn select_with_timeout() {
    run(2, 2, || {
        let (tx, rx) = chan::<u32>(1);
        let begin = Instant::now();
        let timed_out = select! { recv(rx) -> _v => false, default(10 * MS) => true };
        assert!(timed_out && begin.elapsed() >= 10 * MS);
        tx.send(1).unwrap();
        for d in [Duration::ZERO, HOUR] {
            let got = select! { recv(rx) -> v => v, default(d) => None };
            assert_eq!(got, Some(1));
            tx.send(1).unwrap();
        }
        rx.recv();
        let at_once = select! { recv(rx) -> _v => false, default(Duration::ZERO) => true };
        assert!(at_once);
        go(move || {
            sleep(5 * MS);
            tx.send(2).unwrap()
        });
        let got =
            select! { recv(rx) -> v => v, recv(never::<u32>()) -> v => v, default(HOUR) => None };
        assert_eq!(got, Some(2));
        // Nothing but the time.
        let begin = Instant::now();
        select! { default(3 * MS) => {} }
        assert!(begin.elapsed() >= 3 * MS);
    });
}

/// Go: MultiWakeupTimer: many receivers on one fast ticker, each with a timeout of its own.
#[test]
fn many_on_one_ticker() {
    run(2, 2, || {
        let ticker = Arc::new(Ticker::new(Duration::from_micros(20)));
        let gs: std::vec::Vec<_> = (0..4)
            .map(|_| {
                let rx = ticker.receiver().clone();
                crate::spawn(move || {
                    (0..500)
                        .filter(|_| select! { recv(rx) -> _at => true, default(50 * MS) => false })
                        .count()
                })
            })
            .collect();
        let ticks: usize = gs.into_iter().map(crate::JoinHandle::join).sum();
        assert!(ticks > 100, "{ticks} ticks in 2000 waits");
    });
}

/// The same scheduler with a clock that jumps, on the host machine.
#[test]
fn virtual_clock() {
    let cfg = base::config::Config {
        procs: Some(2),
        clock: base::config::Clock::Virtual,
        ..base::config::Config::DEFAULT
    };
    let real = std::time::Instant::now();
    sched::testing::run_with(cfg, 2, || {
        let begin = Instant::now();
        let gs: std::vec::Vec<_> = (1..=20)
            .map(|i| {
                crate::spawn(move || {
                    sleep(i * HOUR);
                    select! { recv(never::<()>()) -> _v => {}, default(HOUR) => {} }
                })
            })
            .collect();
        gs.into_iter().for_each(crate::JoinHandle::join);
        assert_eq!(begin.elapsed(), 21 * HOUR);
    });
    assert!(real.elapsed() < HOUR);
}
