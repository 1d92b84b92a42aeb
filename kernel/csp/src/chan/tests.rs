//! What Go's `runtime/chan_test.go` and `test/chan` assert, and what Rust's forms add.

use super::{Receiver, SendError, TryRecvError, TrySendError, chan, never};
use crate::sync::WaitGroup;
use crate::{go, spawn};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use sched::testing::run;
use sched::yield_now;

/// Lets others run until `done`; for conditions that nobody signals.
fn until(done: impl Fn() -> bool) {
    while !done() {
        yield_now();
    }
}

#[test]
fn every_capacity_blocks_drains_and_keeps_order() {
    run(2, 2, || {
        for cap in 0..200 {
            let (tx, rx) = chan::<usize>(cap);
            assert_eq!((tx.capacity(), rx.capacity()), (cap, cap));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            for i in 0..cap {
                tx.try_send(i).unwrap();
                assert_eq!(tx.len(), i + 1);
            }
            assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
            let h = spawn({
                let tx = tx.clone();
                move || {
                    (cap..cap + 10).for_each(|i| tx.send(i).unwrap());
                }
            });
            for i in 0..cap + 10 {
                assert_eq!(rx.recv(), Some(i));
            }
            h.join();
            (0..cap).for_each(|i| tx.send(i).unwrap());
            assert!(tx.close());
            assert!(!tx.close() && !rx.close());
            assert!(rx.iter().eq(0..cap));
            assert_eq!(rx.recv(), None);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
            assert_eq!(tx.send(1), Err(SendError(1)));
            assert_eq!(tx.try_send(1), Err(TrySendError::Closed(1)));
        }
    });
}

#[test]
fn receive_on_empty_and_send_on_full_wait() {
    run(2, 2, || {
        for cap in [0, 1, 7] {
            let (tx, rx) = chan::<u32>(cap);
            let got = Arc::new(AtomicU32::new(0));
            let h = spawn({
                let (rx, got) = (rx.clone(), got.clone());
                move || got.store(rx.recv().unwrap(), SeqCst)
            });
            (0..50).for_each(|_| yield_now());
            assert_eq!(got.load(SeqCst), 0);
            tx.send(5).unwrap();
            h.join();
            assert_eq!(got.load(SeqCst), 5);

            (0..cap).for_each(|_| tx.send(1).unwrap());
            let sent = Arc::new(AtomicBool::new(false));
            let h = spawn({
                let (tx, sent) = (tx.clone(), sent.clone());
                move || {
                    tx.send(2).unwrap();
                    sent.store(true, SeqCst);
                }
            });
            (0..50).for_each(|_| yield_now());
            assert!(!sent.load(SeqCst));
            (0..cap).for_each(|_| assert_eq!(rx.recv(), Some(1)));
            assert_eq!(rx.recv(), Some(2));
            h.join();
        }
    });
}

#[test]
fn four_senders_deliver_each_value_once() {
    run(2, 2, || {
        for cap in [0, 1, 10, 1000] {
            let (tx, rx) = chan::<u32>(cap);
            for k in 0..4 {
                let tx = tx.clone();
                go(move || (0..1000).for_each(|i| tx.send(k * 1000 + i).unwrap()));
            }
            drop(tx);
            let mut all: Vec<u32> = rx.into_iter().collect();
            // Each sender's values come in its order.
            for k in 0..4 {
                assert!(
                    all.iter()
                        .filter(|&v| v / 1000 == k)
                        .copied()
                        .eq(k * 1000..(k + 1) * 1000)
                );
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..4000));
        }
    });
}

#[test]
fn close_wakes_receivers_with_nothing_and_senders_with_their_values() {
    run(2, 2, || {
        let (tx, rx) = chan::<Box<u32>>(0);
        let hs: Vec<_> = (0..10)
            .map(|_| {
                let rx = rx.clone();
                spawn(move || rx.recv())
            })
            .collect();
        (0..50).for_each(|_| yield_now());
        tx.close();
        for h in hs {
            assert_eq!(h.join(), None);
        }

        let (tx, rx) = chan::<Box<u32>>(1);
        tx.send(Box::new(100)).unwrap();
        let hs: Vec<_> = (0..10)
            .map(|i| {
                let tx = tx.clone();
                spawn(move || tx.send(Box::new(i)))
            })
            .collect();
        (0..50).for_each(|_| yield_now());
        rx.close();
        for (i, h) in hs.into_iter().enumerate() {
            assert_eq!(h.join(), Err(SendError(Box::new(i as u32))));
        }
        assert_eq!(rx.recv(), Some(Box::new(100)));
        assert_eq!(rx.recv(), None);
    });
}

#[test]
fn waiters_are_served_in_order() {
    run(1, 1, || {
        // One P and no preemption: who has said that it starts is parked when another one runs.
        let started = Arc::new(AtomicU32::new(0));
        let (tx, rx) = chan::<u32>(0);
        let (otx, orx) = chan::<(u32, u32)>(64);
        for i in 0..20 {
            let (rx, otx, theirs) = (rx.clone(), otx.clone(), started.clone());
            go(move || {
                theirs.fetch_add(1, SeqCst);
                otx.send((i, rx.recv().unwrap())).unwrap();
            });
            until(|| started.load(SeqCst) == i + 1);
        }
        (0..20).for_each(|v| tx.send(v).unwrap());
        drop(otx);
        let mut order: Vec<_> = orx.into_iter().collect();
        order.sort_unstable();
        assert!(order.into_iter().eq((0..20).map(|i| (i, i))));

        let (tx, rx) = chan::<u32>(3);
        for i in 0..20 {
            let (tx, theirs) = (tx.clone(), started.clone());
            go(move || {
                theirs.fetch_add(1, SeqCst);
                tx.send(i).unwrap();
            });
            until(|| started.load(SeqCst) == 20 + i + 1);
        }
        drop(tx);
        assert!(rx.into_iter().eq(0..20));
    });
}

#[test]
fn the_last_handle_of_a_side_ends_the_channel() {
    run(2, 2, || {
        let (tx, rx) = chan::<u32>(4);
        let tx2 = tx.clone();
        tx.send(1).unwrap();
        drop(tx);
        assert!(!rx.is_closed());
        drop(tx2);
        assert_eq!((rx.recv(), rx.recv()), (Some(1), None));

        // What nobody can receive any more is dropped, and parked senders get their values back.
        let alive = Arc::new(());
        let (tx, rx) = chan::<Arc<()>>(1);
        tx.send(alive.clone()).unwrap();
        let h = spawn({
            let (tx, v) = (tx.clone(), alive.clone());
            move || tx.send(v).is_err()
        });
        (0..50).for_each(|_| yield_now());
        drop(rx.clone());
        assert_eq!(Arc::strong_count(&alive), 3);
        drop(rx);
        assert!(h.join());
        assert!(tx.send(alive.clone()).is_err());
        assert_eq!(Arc::strong_count(&alive), 1);
        drop(tx);
    });
}

#[test]
fn values_in_the_buffer_die_with_the_channel() {
    run(1, 1, || {
        let alive = Arc::new(());
        let (tx, rx) = chan(8);
        (0..5).for_each(|_| tx.send(alive.clone()).unwrap());
        drop(rx.recv());
        drop(tx);
        assert_eq!(Arc::strong_count(&alive), 5);
        drop(rx);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn elements_of_no_size_and_of_large_size() {
    run(2, 2, || {
        for cap in [0, 3, usize::MAX] {
            let (tx, rx) = chan::<()>(cap);
            go(move || (0..500).for_each(|_| tx.send(()).unwrap()));
            assert_eq!(rx.into_iter().count(), 500);
        }
        for cap in [0, 2] {
            let (tx, rx) = chan::<[u64; 512]>(cap);
            go(move || (0..100).for_each(|i| tx.send([i; 512]).unwrap()));
            for (i, v) in rx.into_iter().enumerate() {
                assert!(v.iter().all(|&x| x == i as u64));
            }
        }
    });
}

#[test]
fn a_ready_value_is_never_missed_by_try_recv() {
    // Go: TestNonblockRecvRace, and golang/go #32529.
    run(2, 2, || {
        for _ in 0..2000 {
            let (tx, rx) = chan::<u32>(1);
            tx.send(1).unwrap();
            let h = spawn(move || {
                let first = rx.try_recv();
                (first, rx.try_recv())
            });
            tx.close();
            assert_eq!(h.join().0, Ok(1));
        }
        for _ in 0..2000 {
            let (tx, rx) = chan::<u32>(0);
            let closed = Arc::new(AtomicBool::new(false));
            let h = spawn({
                let closed = closed.clone();
                move || {
                    until(|| closed.load(SeqCst));
                    rx.try_recv()
                }
            });
            tx.close();
            closed.store(true, SeqCst);
            assert_eq!(h.join(), Err(TryRecvError::Closed));
        }
    });
}

#[test]
fn try_send_reaches_a_parked_receiver() {
    run(2, 2, || {
        for _ in 0..500 {
            let (tx, rx) = chan::<u32>(0);
            let h = spawn(move || rx.recv());
            let mut v = 7;
            while let Err(TrySendError::Full(back)) = tx.try_send(v) {
                v = back;
                yield_now();
            }
            assert_eq!(h.join(), Some(7));
        }
    });
}

#[test]
fn never_is_never_ready() {
    run(1, 1, || {
        const NEVER: Receiver<String> = never();
        let rx = NEVER.clone();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert!(!rx.close());
        assert_eq!((rx.len(), rx.capacity()), (0, 0));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn many_consumers_in_two_stages() {
    // Go: TestMultiConsumer, smaller.
    run(2, 2, || {
        const ITEMS: u64 = 20_000;
        let primes = [2u64, 3, 7, 11, 13, 17, 19, 23, 27, 31];
        let (qtx, qrx) = chan::<u64>(69);
        let (rtx, rrx) = chan::<u64>(69);
        let wg = WaitGroup::new();
        for i in 0..23 {
            let (q, r) = (qrx.clone(), rtx.clone());
            wg.go(move || {
                for v in &q {
                    if primes[i % primes.len()].is_multiple_of(v + 1) {
                        yield_now();
                    }
                    r.send(v).unwrap();
                }
            });
        }
        let expected = Arc::new(AtomicU64::new(0));
        go({
            let expected = expected.clone();
            move || {
                for i in 0..ITEMS {
                    let v = primes[i as usize % primes.len()] + i;
                    expected.fetch_add(v, SeqCst);
                    qtx.send(v).unwrap();
                }
                qtx.close();
                wg.wait();
                rtx.close();
            }
        });
        let (mut n, mut sum) = (0, 0);
        for v in &rrx {
            n += 1;
            sum += v;
        }
        assert_eq!((n, sum), (ITEMS, expected.load(SeqCst)));
    });
}

#[test]
fn a_token_passes_a_chain_of_goroutines() {
    // Go: test/chan/goroutines.go, smaller.
    run(2, 2, || {
        let (first, mut left) = chan::<u32>(0);
        for _ in 0..2000 {
            let (tx, rx) = chan(0);
            let from = core::mem::replace(&mut left, rx);
            go(move || tx.send(from.recv().unwrap() + 1).unwrap());
        }
        go(move || first.send(0).unwrap());
        assert_eq!(left.recv(), Some(2000));
    });
}

#[test]
fn pointers_survive_the_way_over_many_goroutines() {
    // Go: TestChanSendBarrier, smaller.
    run(2, 2, || {
        let (tx, rx) = chan::<Vec<u64>>(2);
        let wg = WaitGroup::new();
        for k in 0..20u64 {
            let tx = tx.clone();
            wg.go(move || (0..200).for_each(|i| tx.send(vec![k, i, k ^ i]).unwrap()));
        }
        drop(tx);
        let mut n = 0;
        for v in rx {
            assert_eq!(v[2], v[0] ^ v[1]);
            n += 1;
        }
        wg.wait();
        assert_eq!(n, 4000);
    });
}

#[test]
#[should_panic(expected = "chan: no room for")]
fn a_buffer_larger_than_memory_is_refused() {
    let _ = chan::<u64>(usize::MAX / 4);
}

#[test]
fn errors_say_what_happened() {
    assert_eq!(alloc::format!("{}", SendError(1)), "send on closed channel");
    assert_eq!(alloc::format!("{:?}", TrySendError::Full(1)), "Full(..)");
    assert_eq!(TrySendError::Closed(3).into_inner(), 3);
}

/// A later operand leaves the function: nothing was chosen, and the value of a send case is not lost.
#[test]
fn an_operand_that_leaves_drops_values() {
    fn leaves(
        tx: &crate::chan::Sender<Arc<()>>,
        held: Arc<()>,
        other: Option<&crate::chan::Receiver<u32>>,
    ) -> Option<()> {
        crate::select! {
            send(tx, held) -> _ => None,
            recv(other?) -> _ => None,
        }
    }
    run(2, 2, || {
        let (tx, _rx) = chan(0);
        let held = Arc::new(());
        assert_eq!(leaves(&tx, held.clone(), None), None);
        assert_eq!(Arc::strong_count(&held), 1)
    })
}
