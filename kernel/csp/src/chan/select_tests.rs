//! What Go's select tests assert (`runtime/chan_test.go`, `test/chan/select*.go`).

use crate::time::{Duration, Instant, Ticker, sleep};
use crate::{Receiver, SendError, chan, go, never, select, spawn};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use sched::testing::run;
use sched::yield_now;

#[test]
fn default_only_if_nothing_is_ready() {
    run(2, 2, || {
        let (tx, rx) = chan::<u32>(1);
        let none = select! { recv(rx) -> _v => false, default => true };
        assert!(none);
        let sent = select! { send(tx, 7) -> r => r.is_ok(), default => false };
        assert!(sent);
        let full = select! { send(tx, 8) -> _r => false, default => true };
        assert!(full);
        assert_eq!(select! { recv(rx) -> v => v, default => None }, Some(7));
        tx.close();
        assert_eq!(select! { recv(rx) -> v => v, default => Some(0) }, None);
        assert_eq!(
            select! { send(tx, 9) -> r => r, default => Ok(()) },
            Err(SendError(9))
        );
        assert_eq!(select! { default => 5 }, 5);
    });
}

#[test]
fn a_channel_that_is_always_ready_never_gives_default() {
    // Go: TestNonblockSelectRace.
    run(2, 2, || {
        for _ in 0..1000 {
            let (atx, arx) = chan::<u32>(1);
            let (btx, brx) = chan::<u32>(1);
            atx.send(1).unwrap();
            let h = spawn({
                let (arx, brx) = (arx.clone(), brx.clone());
                move || select! { recv(arx) -> _v => true, recv(brx) -> _v => true, default => false }
            });
            // One of the two is ready at each moment.
            btx.send(1).unwrap();
            select! { recv(arx) -> _v => {}, default => {} }
            assert!(h.join());
        }
    });
}

#[test]
fn two_goroutines_that_send_and_receive_on_one_channel() {
    // Go: TestSelfSelect: nobody receives its own unbuffered send.
    run(2, 2, || {
        for cap in [0, 10] {
            let (tx, rx) = chan::<u32>(cap);
            let hs: Vec<_> = (0..2u32)
                .map(|me| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    let check = move |got: Option<u32>| {
                        assert!(cap > 0 || got != Some(me), "{me} received its own send");
                    };
                    spawn(move || {
                        for i in 0..1000 {
                            if i % 2 == me {
                                select! {
                                    send(tx, me) -> _r => {}
                                    recv(rx) -> v => check(v),
                                }
                            } else {
                                select! {
                                    recv(rx) -> v => check(v),
                                    send(tx, me) -> _r => {}
                                }
                            }
                        }
                        // The other one, whose rounds are not over, has nobody to talk to any more.
                        tx.close();
                    })
                })
                .collect();
            hs.into_iter().for_each(|h| h.join());
        }
    });
}

#[test]
fn stress_with_four_channels_keeps_all_counts() {
    // Go: TestSelectStress, smaller.
    run(2, 2, || {
        const N: usize = 2000;
        let caps = [0, 0, 2, 3];
        let (txs, rxs): (Vec<_>, Vec<_>) = caps.iter().map(|&c| chan::<usize>(c)).unzip();
        for (i, tx) in txs.iter().enumerate() {
            let tx = tx.clone();
            go(move || (0..N).for_each(|_| tx.send(i).unwrap()));
        }
        let selecting = txs.clone();
        go(move || {
            let t = &selecting;
            for _ in 0..4 * N {
                select! {
                    send(t[0], 0) -> r => r.unwrap(),
                    send(t[1], 1) -> r => r.unwrap(),
                    send(t[2], 2) -> r => r.unwrap(),
                    send(t[3], 3) -> r => r.unwrap(),
                }
            }
        });
        drop(txs);
        let total = Arc::new(AtomicU32::new(0));
        let hs: Vec<_> = (0..3)
            .map(|_| {
                let (r, total) = (rxs.clone(), total.clone());
                spawn(move || {
                    let mut open = [true; 4];
                    while open.contains(&true) {
                        let pick = |i: usize| if open[i] { r[i].clone() } else { never() };
                        let (i, v) = select! {
                            recv(pick(0)) -> v => (0, v),
                            recv(pick(1)) -> v => (1, v),
                            recv(pick(2)) -> v => (2, v),
                            recv(pick(3)) -> v => (3, v),
                        };
                        match v {
                            Some(v) => {
                                assert_eq!(v, i);
                                total.fetch_add(1, SeqCst);
                            }
                            None => open[i] = false,
                        }
                    }
                })
            })
            .collect();
        hs.into_iter().for_each(|h| h.join());
        assert_eq!(total.load(SeqCst) as usize, 8 * N);
    });
}

#[test]
fn picks_are_uniform() {
    // Go: TestPseudoRandomSend, golang/go #21806.
    run(1, 1, || {
        let rxs: Vec<Receiver<()>> = (0..3)
            .map(|_| {
                let (tx, rx) = chan(0);
                tx.close();
                rx
            })
            .collect();
        let mut hits = [0u32; 3];
        for _ in 0..30_000 {
            let i = select! {
                recv(rxs[0]) -> _v => 0,
                recv(never::<()>()) -> _v => 3,
                recv(rxs[1]) -> _v => 1,
                recv(rxs[2]) -> _v => 2,
            };
            hits[i] += 1;
        }
        assert!(
            hits.iter().all(|&h| (9_000..11_000).contains(&h)),
            "{hits:?}"
        );
    });
}

#[test]
fn operands_are_evaluated_once_in_order() {
    run(1, 1, || {
        let (tx, rx) = chan::<u32>(1);
        let order = core::cell::RefCell::new(Vec::new());
        let note = |n: u32| order.borrow_mut().push(n);
        select! {
            recv({ note(1); never::<u32>() }) -> _v => unreachable!(),
            send({ note(2); tx.clone() }, { note(3); 5 }) -> r => { r.unwrap(); note(9) }
            recv({ note(4); never::<u32>() }) -> _v => unreachable!(),
        }
        assert_eq!(order.take(), [1, 2, 3, 4, 9]);
        assert_eq!(rx.recv(), Some(5));
    });
}

#[test]
fn close_wakes_a_select() {
    run(2, 2, || {
        for _ in 0..300 {
            let (atx, arx) = chan::<u32>(0);
            let (btx, brx) = chan::<u32>(0);
            let h = spawn(move || {
                select! { recv(arx) -> v => v.is_none(), send(btx, 3) -> r => r == Err(SendError(3)) }
            });
            (0..3).for_each(|_| yield_now());
            if sched::now_ns() & 1 == 0 {
                atx.close();
                assert!(h.join());
                drop(brx);
            } else {
                brx.close();
                assert!(h.join());
                drop(atx);
            }
        }
    });
}

#[test]
fn arms_may_break_continue_and_drop_the_channel() {
    run(2, 2, || {
        let (tx, rx) = chan::<u32>(0);
        go(move || (0..10).for_each(|i| tx.send(i).unwrap()));
        let mut sum = 0;
        loop {
            select! {
                recv(rx) -> v => match v {
                    Some(v) if v % 2 == 0 => continue,
                    Some(v) => sum += v,
                    None => break,
                },
            }
        }
        assert_eq!(sum, 25);
        select! { recv(rx) -> v => { drop(rx); assert_eq!(v, None) } }
    });
}

#[test]
fn values_that_are_not_sent_are_dropped() {
    run(1, 1, || {
        let value = Arc::new(());
        let (tx, rx) = chan::<Arc<()>>(0);
        select! { send(tx, value.clone()) -> _r => unreachable!(), default => {} }
        assert_eq!(Arc::strong_count(&value), 1);
        let (atx, arx) = chan::<u32>(1);
        atx.send(1).unwrap();
        select! { send(tx, value.clone()) -> _r => unreachable!(), recv(arx) -> v => assert_eq!(v, Some(1)) }
        assert_eq!(Arc::strong_count(&value), 1);
        drop(rx);
        select! { send(tx, value.clone()) -> r => assert_eq!(Arc::strong_count(&r.unwrap_err().0), 2) }
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

/// The value of a case that was not chosen waits in its drop for a ticker that rested for the tick which the other case took.
#[test]
fn a_tick_is_taken_before_values_are_dropped() {
    struct AwaitsTick(Receiver<Instant>);
    impl Drop for AwaitsTick {
        fn drop(&mut self) {
            self.0.recv();
        }
    }
    run(1, 1, || {
        let ticker = Ticker::new(Duration::from_millis(1));
        sleep(Duration::from_millis(4)); // a tick lies there, and it rests
        let (tx, _rx) = chan(0);
        let tick = select! {
            send(tx, AwaitsTick(ticker.receiver().clone())) -> _r => None,
            recv(ticker.receiver()) -> at => at,
        };
        assert!(tick.is_some());
    });
}
