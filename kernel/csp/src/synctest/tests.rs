//! Go's tests of bubbles (internal/synctest/synctest_test.go, testing/synctest), in our words.

use super::{run, wait};
use crate::context::{Context, ContextError};
use crate::sync::{Cond, Mutex, WaitGroup};
use crate::time::{Duration, Instant, Ticker, Timer, after, after_func, sleep};
use crate::{chan, go, never, select, spawn};
use alloc::sync::Arc;
use alloc::vec::Vec;
use sched::testing;
use std::sync::atomic::{AtomicU32, Ordering::*};

const S: Duration = Duration::from_secs(1);

fn bubble(f: impl FnOnce() + Send + 'static) {
    testing::run(2, 2, move || run(f))
}

/// Go: Now, MonotonicClock, Sleep, RunEmpty.
#[test]
fn sleeps_take_no_time() {
    bubble(|| {});
    let real = std::time::Instant::now();
    bubble(|| {
        let begin = Instant::now();
        for i in 0..100 {
            assert_eq!(begin.elapsed(), i * 3600 * S);
            sleep(3600 * S)
        }
        assert_eq!(begin.elapsed(), 360_000 * S);
    });
    assert!(real.elapsed() < 60 * S);
}

/// Time stands still while anybody computes, and outside it goes on.
#[test]
fn time_outside_goes_on() {
    testing::run(2, 2, || {
        let outside = Instant::now();
        run(|| {
            let begin = Instant::now();
            (0..1000).for_each(|_| sched::yield_now());
            assert_eq!(begin.elapsed(), Duration::ZERO);
            sleep(1_000_000 * S)
        });
        assert!(outside.elapsed() < 1_000 * S);
        let real = Instant::now();
        sleep(Duration::from_millis(2));
        assert!(real.elapsed() >= Duration::from_millis(2));
    });
}

/// Go: Wait: it returns when all others are blocked or gone.
#[test]
fn wait_sees_the_others_blocked() {
    bubble(|| {
        let n = Arc::new(AtomicU32::new(0));
        let (tx, rx) = chan::<()>(0);
        for _ in 0..10 {
            let (n, rx) = (n.clone(), rx.clone());
            go(move || {
                (0..50).for_each(|_| sched::yield_now());
                n.fetch_add(1, SeqCst);
                rx.recv();
                n.fetch_add(1, SeqCst);
            });
        }
        wait();
        assert_eq!(n.load(SeqCst), 10);
        tx.close();
        wait();
        assert_eq!(n.load(SeqCst), 20);
        wait();
    });
}

/// Go: TimerFromOutsideBubble..., TimersInOrder: whoever sleeps wakes in the order of the deadlines, each at its own.
#[test]
fn in_order_and_to_the_nanosecond() {
    bubble(|| {
        let begin = Instant::now();
        let woken = Arc::new(Mutex::new(Vec::new()));
        for i in [5, 3, 1, 4, 2] {
            let woken = woken.clone();
            go(move || {
                sleep(i * S);
                woken.lock().push((i, begin.elapsed()))
            });
        }
        sleep(10 * S);
        let woken = woken.lock().clone();
        assert!(woken.into_iter().eq((1..=5).map(|i| (i, i * S))));
    });
}

/// Go: TimerReset, TickerReset, AfterFunc, ChannelMovement's timers; contexts.
#[test]
fn timers_tickers_contexts() {
    bubble(|| {
        let begin = Instant::now();
        let timer = Timer::new(10 * S);
        sleep(S);
        assert!(timer.reset(2 * S));
        assert_eq!(timer.recv() - begin, 3 * S);
        assert!(!timer.reset(Duration::ZERO));
        assert_eq!(timer.recv() - begin, 3 * S, "reset to zero does not hang");

        let ticker = Ticker::new(7 * S);
        for i in 1..=5 {
            assert_eq!(ticker.recv() - begin, (3 + 7 * i) * S);
        }
        sleep(20 * S); // two ticks, one is kept
        ticker.recv();
        assert!(ticker.receiver().try_recv().is_err());
        ticker.stop();

        let now = Instant::now();
        let (tx, rx) = chan(1);
        after_func(5 * S, move || tx.send(Instant::now()).unwrap());
        assert_eq!(rx.recv().unwrap() - now, 5 * S);
        assert_eq!(after(S).recv().unwrap() - now, 6 * S);

        let (ctx, _cancel) = Context::background().with_timeout(9 * S);
        ctx.done().recv();
        assert_eq!(ctx.err(), Some(ContextError::DeadlineExceeded));
        assert_eq!(now.elapsed(), 15 * S);
        let timed_out = select! { recv(never::<u8>()) -> _v => false, default(S) => true };
        assert!(timed_out && now.elapsed() == 16 * S);
    });
}

/// A ticker that nobody listens to neither keeps the clock busy nor hides that all are stuck.
/// Go: DeadlockRoot.
/// Go: DeadlockChild.
/// Go: CondWait, WaitGroupInBubble, join: durable waits.
#[test]
fn what_is_durable() {
    bubble(|| {
        let begin = Instant::now();
        let pair = Arc::new((Mutex::new(false), Cond::new()));
        let p = pair.clone();
        let waits = spawn(move || {
            let mut ready = p.0.lock();
            while !*ready {
                ready = p.1.wait(ready)
            }
        });
        let wg = WaitGroup::new();
        wg.go(|| sleep(5 * S));
        wg.wait();
        assert_eq!(begin.elapsed(), 5 * S);
        *pair.0.lock() = true;
        pair.1.notify_all();
        waits.join();
        spawn(|| sleep(S)).join();
        assert_eq!(begin.elapsed(), 6 * S);
    });
}

/// Go: MutexInBubble..., ChannelFromOutside: a wait for something from outside is not durable: the clock waits too.
#[test]
fn what_is_not_durable() {
    testing::run(2, 2, || {
        let (tx, rx) = chan::<u32>(0);
        let mutex = Arc::new(Mutex::new(()));
        let held = mutex.lock();
        go(move || {
            sleep(Duration::from_millis(5));
            tx.send(7).unwrap()
        });
        let m = mutex.clone();
        let inside = spawn(move || {
            run(move || {
                let begin = Instant::now();
                let sleeper = spawn(move || {
                    sleep(S);
                    begin.elapsed()
                });
                assert_eq!(rx.recv(), Some(7));
                assert_eq!(
                    begin.elapsed(),
                    Duration::ZERO,
                    "it waited for somebody outside"
                );
                let waits = spawn(move || drop(m.lock()));
                waits.join();
                assert_eq!(sleeper.join(), S);
            })
        });
        sleep(Duration::from_millis(15));
        drop(held);
        inside.join();
    });
}

/// Go: ChannelFromOutsideBubble's counterpart.
/// Several bubbles at once, each with its own time, and many rounds of each.
#[test]
fn side_by_side() {
    testing::run(2, 2, || {
        let gs: Vec<_> = (1..=8u32)
            .map(|i| {
                spawn(move || {
                    run(move || {
                        let begin = Instant::now();
                        let (tx, rx) = chan::<u32>(0);
                        for k in 0..4 {
                            let tx = tx.clone();
                            go(move || {
                                for n in 0..50 {
                                    sleep(i * S);
                                    tx.send(n * 4 + k).unwrap()
                                }
                            });
                        }
                        drop(tx);
                        assert_eq!(rx.iter().count(), 200);
                        assert_eq!(begin.elapsed(), 50 * i * S);
                    })
                })
            })
            .collect();
        gs.into_iter().for_each(crate::JoinHandle::join);
    });
}
