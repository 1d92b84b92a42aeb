//! Go's tests of bubbles (internal/synctest/synctest_test.go, testing/synctest), in our words.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering::*};
use csp::context::{Context, ContextError};
use csp::sync::{Cond, Mutex, Semaphore, WaitGroup};
use csp::synctest::{run, wait};
use csp::time::{Duration, Instant, Ticker, Timer, after, after_func, sleep};
use csp::{chan, go, never, select, spawn};

/// The tests of this file.
pub const TESTS: &[(&str, fn())] = &[
    ("synctest_sleeps_take_no_time", sleeps_take_no_time),
    ("synctest_time_outside_goes_on", time_outside_goes_on),
    (
        "synctest_wait_sees_the_others_blocked",
        wait_sees_the_others_blocked,
    ),
    (
        "synctest_in_order_and_to_the_nanosecond",
        in_order_and_to_the_nanosecond,
    ),
    ("synctest_timers_tickers_contexts", timers_tickers_contexts),
    ("synctest_what_is_durable", what_is_durable),
    ("synctest_what_is_not_durable", what_is_not_durable),
    (
        "synctest_timers_before_and_after_their_time",
        timers_before_and_after_their_time,
    ),
    (
        "synctest_what_happens_before_a_wait",
        what_happens_before_a_wait,
    ),
    ("synctest_groups_from_outside", groups_from_outside),
    ("synctest_joins_from_outside", joins_from_outside),
    ("synctest_timers_from_outside", timers_from_outside),
    ("synctest_wait_beside_a_timer", wait_beside_a_timer),
    ("synctest_root_goexits", root_goexits),
    ("synctest_runs_of_one_timer", runs_of_one_timer),
    ("synctest_semaphores", semaphores),
    ("synctest_what_is_left", what_is_left),
];

const S: Duration = Duration::from_secs(1);

/// Go: Now, MonotonicClock, Sleep, RunEmpty.
fn sleeps_take_no_time() {
    run(|| {});
    let outside = Instant::now();
    run(|| {
        let begin = Instant::now();
        for i in 0..100 {
            assert_eq!(begin.elapsed(), i * 3600 * S);
            sleep(3600 * S)
        }
        assert_eq!(begin.elapsed(), 360_000 * S);
    });
    assert!(outside.elapsed() < 60 * S);
}

/// Two sleep until the same instant, and one of them then waits for the other to be gone: whoever moved the clock must see the
/// waiter as active before it looks again.
fn wait_beside_a_timer() {
    for _ in 0..200 {
        run(|| {
            let done = Arc::new(AtomicU32::new(0));
            let theirs = done.clone();
            go(move || {
                sleep(3600 * S);
                theirs.store(1, SeqCst)
            });
            sleep(3600 * S);
            wait();
            assert_eq!(done.load(SeqCst), 1)
        })
    }
}

/// Time stands still while anybody computes, and outside it goes on.
fn time_outside_goes_on() {
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
}

/// Go: Wait: it returns when all others are blocked or gone.
fn wait_sees_the_others_blocked() {
    run(|| {
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
fn in_order_and_to_the_nanosecond() {
    run(|| {
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
fn timers_tickers_contexts() {
    run(|| {
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

/// Go: CondWait, WaitGroupInBubble, join: durable waits.
fn what_is_durable() {
    run(|| {
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
fn what_is_not_durable() {
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
}

/// Go: TimerReadBeforeDeadline, TimerReadAfterDeadline: what comes is the moment of firing, to the nanosecond.
fn timers_before_and_after_their_time() {
    run(|| {
        let begin = Instant::now();
        assert_eq!(Timer::new(5 * S).recv() - begin, 5 * S);
        let timer = Timer::new(S);
        sleep(20 * S);
        assert_eq!(timer.recv() - begin, 6 * S);
        assert_eq!(begin.elapsed(), 25 * S, "it was there already");
        assert!(!timer.stop());
    });
}

/// Go: HappensBefore: what the others did before they blocked is seen after `wait`, and what was done before it is seen by them.
fn what_happens_before_a_wait() {
    run(|| {
        let (theirs, ours) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (t, o) = (theirs.clone(), ours.clone());
        go(move || {
            for i in 1..=50 {
                t.store(i, Relaxed);
                sleep(S);
                assert_eq!(o.load(Relaxed), i, "done before the clock went on");
            }
        });
        for i in 1..=50 {
            wait();
            assert_eq!(theirs.load(Relaxed), i);
            ours.store(i, Relaxed);
            sleep(S);
        }
    });
}

/// Go: WaitGroupInBubble, WaitGroupOutOfBubble, WaitGroupMovedIntoBubble: waiting for a group is durable where its count rose.
fn groups_from_outside() {
    let outside = WaitGroup::new();
    outside.go(|| sleep(Duration::from_millis(5)));
    let group = outside.clone();
    run(move || {
        let begin = Instant::now();
        let sleeper = spawn(move || {
            sleep(S);
            begin.elapsed()
        });
        group.wait();
        assert_eq!(
            begin.elapsed(),
            Duration::ZERO,
            "somebody outside was at work"
        );
        assert_eq!(sleeper.join(), S);
        // The same group again, from 0: it is of the bubble now.
        group.go(|| sleep(5 * S));
        group.wait();
        assert_eq!(begin.elapsed(), 6 * S);
    });
    outside.go(|| ());
    outside.wait();
}

/// A goroutine from outside is waited for as everybody outside: the clock waits too.
fn joins_from_outside() {
    let outside = spawn(|| {
        sleep(Duration::from_millis(5));
        7
    });
    run(move || {
        let begin = Instant::now();
        let sleeper = spawn(|| sleep(S));
        assert_eq!(outside.join(), 7);
        assert_eq!(
            begin.elapsed(),
            Duration::ZERO,
            "somebody outside was at work"
        );
        sleeper.join()
    });
}

/// Go: TimerFromOutsideBubble: it goes by the time outside, whoever sets it.
fn timers_from_outside() {
    let outside = Timer::new(3600 * S);
    run(move || {
        let begin = Instant::now();
        let sleeper = spawn(|| sleep(S));
        assert!(outside.reset(Duration::from_millis(5)));
        outside.recv();
        assert_eq!(
            begin.elapsed(),
            Duration::ZERO,
            "the clock waited for the one outside"
        );
        sleeper.join();
        assert!(!outside.stop());
    });
}

/// The root may end by `goexit`, and the others after it.
fn root_goexits() {
    run(|| {
        let (tx, rx) = chan::<u32>(1);
        tx.send(1).unwrap();
        go(move || assert_eq!(rx.recv(), Some(1)));
        csp::goexit()
    })
}

/// Go: AfterFunc, Reset: a timer is set anew while its function still runs. (In Go both run at the same time. Here the second waits,
/// and is durably blocked meanwhile, so that the first can get on.)
fn runs_of_one_timer() {
    run(|| {
        let begin = Instant::now();
        let (tx, ended) = chan(2);
        let timer = after_func(S, move || {
            sleep(5 * S);
            tx.send(begin.elapsed()).unwrap()
        });
        sleep(2 * S);
        assert!(!timer.reset(S), "it has fired");
        assert_eq!(ended.recv(), Some(6 * S));
        assert_eq!(ended.recv(), Some(11 * S));
    })
}

/// Go: x/sync/semaphore, whose waiters each wait for a channel of their own: durably.
fn semaphores() {
    let semaphore = Arc::new(Semaphore::new(1));
    let ours = semaphore.clone();
    run(move || {
        let begin = Instant::now();
        ours.acquire();
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let ours = ours.clone();
                spawn(move || {
                    ours.acquire();
                    sleep(S);
                    ours.release()
                })
            })
            .collect();
        sleep(10 * S);
        ours.release();
        waiters.into_iter().for_each(|w| w.join());
        assert_eq!(begin.elapsed(), 13 * S);
    });
    assert_eq!(semaphore.available(), 1);
}

/// Channels, timers and contexts of a bubble may be dropped outside, where nobody inside waits for them.
fn what_is_left() {
    let left = Arc::new(Mutex::new(None));
    let out = left.clone();
    run(move || {
        let (tx, rx) = chan(1);
        tx.send(7).unwrap();
        let ctx = Context::background().with_timeout(S);
        *out.lock() = Some((tx, rx, Timer::new(S), Ticker::new(S), ctx));
    });
    drop(left.lock().take());
    // A context that was cancelled there may be cancelled once more.
    let left = Arc::new(Mutex::new(None));
    let out = left.clone();
    run(move || {
        let (ctx, cancel) = Context::background().with_cancel();
        let done = ctx.done();
        cancel.cancel();
        *out.lock() = Some((ctx, cancel, done));
    });
    let (ctx, cancel, done) = left.lock().take().expect("the bubble is over");
    cancel.cancel();
    assert_eq!(ctx.err(), Some(ContextError::Canceled));
    drop(done);
    // One of the two still inside, which goes on.
    let (tx, rx) = chan(0);
    let inside = spawn(move || {
        run(move || {
            let (their_tx, their_rx) = chan::<u8>(1);
            their_tx.send(7).unwrap();
            assert!(tx.send(their_tx).is_ok());
            while !their_rx.is_closed() {
                sched::yield_now()
            }
            assert_eq!((their_rx.recv(), their_rx.recv()), (Some(7), None));
        })
    });
    drop(rx.recv());
    inside.join()
}
