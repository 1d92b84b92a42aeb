//! Bubbles on the machine: the ends that a host test cannot have, and many at once. The rest: `csp`'s own tests.

use crate::param::param;
use crate::wait::until;
use crate::{Outcome, Test, ensure};
use core::sync::atomic::{AtomicBool, Ordering::*};
use ringo::prelude::*;
use ringo::synctest;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("bubble_side_by_side", bubble_side_by_side),
    ("bubble_waits", bubble_waits),
    ("bubble_stuck_root", bubble_stuck_root),
    ("bubble_stuck_child", bubble_stuck_child),
    ("bubble_stuck_after_goexit", bubble_stuck_after_goexit),
    ("bubble_lonely_ticker", bubble_lonely_ticker),
    ("bubble_channel_outside", bubble_channel_outside),
    ("bubble_nested", bubble_nested),
    ("bubble_cond_outside", bubble_cond_outside),
    ("bubble_cond_outside_all", bubble_cond_outside_all),
    ("bubble_timer_outside", bubble_timer_outside),
    ("bubble_func_outside", bubble_func_outside),
    ("bubble_group_mixed", bubble_group_mixed),
    ("bubble_semaphore_outside", bubble_semaphore_outside),
    ("bubble_sender_outside", bubble_sender_outside),
    ("bubble_receiver_outside", bubble_receiver_outside),
    ("bubble_group_done_outside", bubble_group_done_outside),
    ("bubble_group_done_inside", bubble_group_done_inside),
];

const S: Duration = Duration::from_secs(1);

/// Several bubbles at once, each with its own time, beside goroutines of real time.
fn bubble_side_by_side() -> Outcome {
    let gs: Vec<_> = (1..=6u32)
        .map(|i| {
            spawn(move || {
                synctest::run(move || {
                    let begin = Instant::now();
                    let (tx, rx) = chan::<u32>(0);
                    for k in 0..4 {
                        let tx = tx.clone();
                        go(move || {
                            for n in 0..param("rounds", 100) as u32 {
                                sleep(i * S);
                                tx.send(n * 4 + k).unwrap()
                            }
                        });
                    }
                    drop(tx);
                    let n = rx.iter().count() as u64;
                    assert_eq!(n, 4 * param("rounds", 100));
                    assert_eq!(begin.elapsed(), param("rounds", 100) as u32 * i * S)
                })
            })
        })
        .collect();
    let begin = Instant::now();
    sleep(Duration::from_millis(3));
    gs.into_iter().for_each(JoinHandle::join);
    ensure!(
        begin.elapsed() < 1000 * S,
        "time outside went on with that inside: {:?}",
        begin.elapsed()
    );
    Ok(())
}

/// `wait` returns exactly when all others are blocked, however they are spread over the CPUs.
fn bubble_waits() -> Outcome {
    synctest::run(|| {
        for round in 0..param("rounds", 200) {
            let (tx, rx) = chan::<()>(0);
            let n = Arc::new(Mutex::new(0u64));
            for _ in 0..5 {
                let (rx, n) = (rx.clone(), n.clone());
                go(move || {
                    yield_now();
                    *n.lock() += 1;
                    rx.recv();
                    *n.lock() += 1
                });
            }
            synctest::wait();
            assert_eq!(*n.lock(), 5, "round {round}");
            tx.close();
            synctest::wait();
            assert_eq!(*n.lock(), 10, "round {round}")
        }
    });
    Ok(())
}

/// Go: DeadlockRoot.
fn bubble_stuck_root() -> Outcome {
    synctest::run(|| _ = never::<u8>().recv());
    Ok(())
}

/// Go: DeadlockChild.
fn bubble_stuck_child() -> Outcome {
    synctest::run(|| {
        go(|| {
            sleep(S);
            unreachable!("the clock stands still once the first goroutine has ended")
        });
    });
    Ok(())
}

/// The first goroutine's end is its end however it comes, as Go's FailNow is.
fn bubble_stuck_after_goexit() -> Outcome {
    synctest::run(|| {
        go(|| {
            loop {
                sleep(S)
            }
        });
        goexit()
    });
    Ok(())
}

/// Go: DeadlockTicker: a ticker that nobody listens to neither keeps the clock busy nor hides that all are stuck.
fn bubble_lonely_ticker() -> Outcome {
    synctest::run(|| {
        let _ticker = Ticker::new(Duration::from_nanos(1));
        sleep(1_000_000 * S);
        println!("a million seconds");
        let (_tx, rx) = chan::<u8>(0);
        rx.recv();
    });
    Ok(())
}

/// Go: ChannelFromOutsideBubble.
fn bubble_channel_outside() -> Outcome {
    let out = Arc::new(Mutex::new(None));
    let o = out.clone();
    synctest::run(move || *o.lock() = Some(chan::<u8>(1)));
    if let Some((tx, _rx)) = out.lock().take() {
        let _ = tx.try_send(1);
    }
    Ok(())
}

/// Go: TimerFromInsideBubble: a timer of a bubble is stopped from outside.
fn bubble_timer_outside() -> Outcome {
    let out = Arc::new(Mutex::new(None));
    let o = out.clone();
    synctest::run(move || *o.lock() = Some(Timer::new(S)));
    if let Some(timer) = out.lock().take() {
        timer.stop();
    }
    Ok(())
}

/// The same for one that runs a function, and for setting it anew.
fn bubble_func_outside() -> Outcome {
    let out = Arc::new(Mutex::new(None));
    let o = out.clone();
    synctest::run(move || *o.lock() = Some(after_func(S, || ())));
    if let Some(timer) = out.lock().take() {
        timer.reset(S);
    }
    Ok(())
}

/// Go: WaitGroupMovedBetweenBubblesWithNonZeroCount: a group is counted up on both sides.
fn bubble_group_mixed() -> Outcome {
    let group = WaitGroup::new();
    group.add(1);
    let g = group.clone();
    synctest::run(move || g.add(1));
    Ok(())
}

/// Go: a bubble cannot be made in a bubble.
fn bubble_nested() -> Outcome {
    synctest::run(|| synctest::run(|| {}));
    Ok(())
}

/// Go: SynctestCondSignalFromNoBubble.
fn bubble_cond_outside() -> Outcome {
    wakes_from_outside(Cond::notify_one)
}

/// Go: SynctestCondBroadcastFromNoBubble.
fn bubble_cond_outside_all() -> Outcome {
    wakes_from_outside(Cond::notify_all)
}

/// Go: the same with x/sync/semaphore, whose waiters wait on channels of their bubble.
fn bubble_semaphore_outside() -> Outcome {
    static PERMITS: Semaphore = Semaphore::new(0);
    beside_a_waiter(|| PERMITS.acquire(), || PERMITS.release())
}

/// The last sender of a channel of a bubble is dropped outside, while a goroutine inside waits for a value.
fn bubble_sender_outside() -> Outcome {
    static OUT: Mutex<Option<Sender<u8>>> = Mutex::new(None);
    let receives = || {
        let (tx, rx) = chan(0);
        *OUT.lock() = Some(tx);
        rx.recv();
    };
    beside_a_waiter(receives, || drop(OUT.lock().take()))
}

/// The last receiver, while one inside waits to send.
fn bubble_receiver_outside() -> Outcome {
    static OUT: Mutex<Option<Receiver<u8>>> = Mutex::new(None);
    let sends = || {
        let (tx, rx) = chan(0);
        *OUT.lock() = Some(rx);
        let _ = tx.send(1);
    };
    beside_a_waiter(sends, || drop(OUT.lock().take()))
}

/// Go: WaitGroupMovedOutOfBubble: a group is counted up inside and down outside.
fn bubble_group_done_outside() -> Outcome {
    static OUT: Mutex<Option<WaitGroup>> = Mutex::new(None);
    let waits = || {
        let group = WaitGroup::new();
        group.add(1);
        *OUT.lock() = Some(group.clone());
        group.wait()
    };
    let done = || {
        if let Some(group) = OUT.lock().take() {
            group.done()
        }
    };
    beside_a_waiter(waits, done)
}

/// Go: WaitGroupMovedIntoBubble: the other way round.
fn bubble_group_done_inside() -> Outcome {
    let group = WaitGroup::new();
    group.add(1);
    let theirs = group.clone();
    synctest::run(move || theirs.done());
    group.wait();
    Ok(())
}

/// Calls `then` when a goroutine of a bubble waits in `wait`, beside one that is busy, or the bubble would be stuck.
fn beside_a_waiter(wait: fn(), then: impl FnOnce()) -> Outcome {
    static WAITS: AtomicBool = AtomicBool::new(false);
    go(move || {
        synctest::run(move || {
            go(wait);
            synctest::wait();
            WAITS.store(true, Release);
            loop {
                yield_now()
            }
        })
    });
    until(|| WAITS.load(Acquire));
    then();
    Ok(())
}

fn wakes_from_outside(wake: fn(&Cond)) -> Outcome {
    static WAITS: Mutex<bool> = Mutex::new(false);
    static COND: Cond = Cond::new();
    go(|| {
        synctest::run(|| {
            let mut waits = WAITS.lock();
            *waits = true;
            // Beside one that is busy, or the bubble would be stuck.
            go(|| {
                loop {
                    yield_now()
                }
            });
            drop(COND.wait(waits))
        })
    });
    while !*WAITS.lock() {
        yield_now()
    }
    wake(&COND);
    Ok(())
}
