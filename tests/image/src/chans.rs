//! Channels: Go's tests (runtime/chan_test.go, test/chan/), in our words.

use crate::param::param;
use crate::{Outcome, Test, ensure};
use alloc::collections::BTreeMap;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("chan_every_capacity", chan_every_capacity),
    ("chan_try_recv_race", chan_try_recv_race),
    ("chan_closed_is_seen", chan_closed_is_seen),
    ("chan_pointers", chan_pointers),
    ("chan_barrier", chan_barrier),
    ("chan_fifo", chan_fifo),
    ("chan_matrix", chan_matrix),
    ("chan_zero_size_and_large", chan_zero_size_and_large),
];

/// Go: Chan. For every capacity: nothing comes from an empty one, nothing goes into a full one, order, close, and four
/// senders' values as a set.
fn chan_every_capacity() -> Outcome {
    for cap in 0..param("capacities", 200) as usize {
        one_capacity(cap)?
    }
    Ok(())
}

fn one_capacity(cap: usize) -> Outcome {
    let (tx, rx) = chan::<usize>(cap);
    ensure!(rx.capacity() == cap && rx.is_empty(), "{rx:?}");
    ensure!(
        rx.try_recv() == Err(TryRecvError::Empty),
        "{cap}: from an empty one"
    );
    // A receiver and a sender that have to wait.
    let waits = spawn({
        let rx = rx.clone();
        move || rx.recv()
    });
    while cap == 0 && tx.try_send(1).is_err() {
        yield_now()
    }
    if cap > 0 {
        tx.send(1).map_err(|e| e.to_string())?
    }
    ensure!(waits.join() == Some(1), "{cap}: the receiver that waits");
    for i in 0..cap {
        ensure!(
            tx.try_send(i).is_ok() && tx.len() == i + 1,
            "{cap}: room for {i}"
        );
    }
    ensure!(
        matches!(tx.try_send(0), Err(TrySendError::Full(0))),
        "{cap}: into a full one"
    );
    let waits = spawn({
        let tx = tx.clone();
        move || tx.send(cap).is_ok()
    });
    for i in 0..=cap {
        ensure!(rx.recv() == Some(i), "{cap}: value {i}");
    }
    ensure!(waits.join(), "{cap}: the sender that waits");
    // A closed one is drained, then it is at its end for everybody.
    for i in 0..cap {
        tx.send(i).map_err(|e| e.to_string())?
    }
    ensure!(tx.close() && !tx.close(), "{cap}: closes once");
    for i in 0..cap {
        ensure!(rx.recv() == Some(i), "{cap}: drains {i}");
    }
    ensure!(
        rx.recv().is_none() && rx.try_recv() == Err(TryRecvError::Closed),
        "{cap}: after the end"
    );
    ensure!(tx.send(7).is_err(), "{cap}: into a closed one");
    four_senders(cap)
}

fn four_senders(cap: usize) -> Outcome {
    const EACH: u64 = 50;
    let (tx, rx) = chan::<u64>(cap);
    for s in 0..4 {
        let tx = tx.clone();
        go(move || (0..EACH).for_each(|i| tx.send(s * EACH + i).unwrap()));
    }
    drop(tx);
    let mut got: Vec<u64> = rx.into_iter().collect();
    got.sort_unstable();
    ensure!(
        got.into_iter().eq(0..4 * EACH),
        "{cap}: values lost or doubled"
    );
    Ok(())
}

/// Go: NonblockRecvRace: an item that is there is not overlooked because somebody closes or receives beside us.
fn chan_try_recv_race() -> Outcome {
    for round in 0..param("rounds", 2000) {
        let (tx, rx) = chan::<u64>(1);
        tx.send(round).map_err(|e| e.to_string())?;
        let look = spawn(move || rx.try_recv());
        tx.close();
        ensure!(
            look.join() == Ok(round),
            "round {round}: the item was overlooked"
        );
    }
    Ok(())
}

/// golang/go #32529: who looks after the close finds the last value or the end, never "not ready".
fn chan_closed_is_seen() -> Outcome {
    for round in 0..param("rounds", 2000) {
        let (tx, rx) = chan::<u64>(1);
        let closed = Arc::new(AtomicBool::new(false));
        let looks = spawn({
            let closed = closed.clone();
            move || {
                let mut got = 0;
                loop {
                    let was_closed = closed.load(Acquire);
                    match rx.try_recv() {
                        Ok(v) => got += v,
                        Err(TryRecvError::Closed) => return Some(got),
                        Err(TryRecvError::Empty) if was_closed => return None,
                        Err(TryRecvError::Empty) => yield_now(),
                    }
                }
            }
        });
        tx.send(1 + round).map_err(|e| e.to_string())?;
        tx.close();
        closed.store(true, Release);
        let got = looks.join();
        ensure!(
            got == Some(1 + round),
            "round {round}: {got:?} after the close"
        );

        // A value is there until the channel is closed, and then another takes it: it is never open and empty.
        let (tx, rx) = chan::<u64>(1);
        tx.send(round).map_err(|e| e.to_string())?;
        let other = rx.clone();
        let looks = spawn(move || other.try_recv());
        tx.close();
        let both = (rx.try_recv(), looks.join());
        let fits = both == (Ok(round), Err(TryRecvError::Closed))
            || both == (Err(TryRecvError::Closed), Ok(round));
        ensure!(fits, "round {round}: {both:?}");
    }
    Ok(())
}

/// Go: ChanSendInterface, ChanSendSelectBarrier: what pointers lead to arrives whole.
fn chan_pointers() -> Outcome {
    let rounds = param("rounds", 200);
    let (tx, rx) = chan::<Arc<[u64; 8]>>(0);
    let senders: Vec<_> = (0..20)
        .map(|s: u64| {
            let tx = tx.clone();
            spawn(move || {
                for i in 0..rounds {
                    tx.send(Arc::new([s << 32 | i; 8])).unwrap()
                }
            })
        })
        .collect();
    drop(tx);
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    for v in rx {
        ensure!(v.iter().all(|w| *w == v[0]), "torn: {v:?}");
        ensure!(Arc::strong_count(&v) == 1, "somebody else holds it");
        let i = next.entry(v[0] >> 32).or_default();
        ensure!(
            v[0] & 0xffff_ffff == *i,
            "sender {} out of order",
            v[0] >> 32
        );
        *i += 1
    }
    senders.into_iter().for_each(JoinHandle::join);
    ensure!(next.values().all(|n| *n == rounds), "lost: {next:?}");
    Ok(())
}

/// golang/go #13160: words that are stored and loaded side by side are never torn. And: what happened before a send is
/// seen after the receive.
fn chan_barrier() -> Outcome {
    static WORDS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
    let (ping, pong) = (chan::<u64>(0), chan::<u64>(0));
    let other = spawn({
        let (rx, tx) = (ping.1, pong.0);
        move || {
            for n in rx {
                let seen = WORDS.iter().all(|w| w.load(Relaxed) == n);
                WORDS.iter().for_each(|w| w.store(n + 1, Relaxed));
                tx.send(if seen { n + 1 } else { 0 }).unwrap()
            }
        }
    });
    let mut n = 1;
    while n < param("rounds", 20_000) {
        WORDS.iter().for_each(|w| w.store(n, Relaxed));
        ping.0.send(n).map_err(|e| e.to_string())?;
        let back = pong.1.recv();
        ensure!(back == Some(n + 1), "round {n}: stores were not seen");
        ensure!(WORDS.iter().all(|w| w.load(Relaxed) == n + 1), "nor ours");
        n += 2
    }
    drop(ping.0);
    other.join();
    Ok(())
}

/// Go: chan/fifo: buffered values keep their order, and so do those who wait.
fn chan_fifo() -> Outcome {
    let (tx, rx) = chan::<u64>(10);
    for i in 0..10 {
        tx.send(i).map_err(|e| e.to_string())?
    }
    for i in 0..10 {
        ensure!(rx.recv() == Some(i), "value {i}");
    }
    // Receivers that came one after the other are served in this order.
    let (tx, rx) = chan::<u64>(0);
    let order = Arc::new(Mutex::new(Vec::new()));
    let before = ringo::metrics::read().goroutines.waiting;
    let gs: Vec<_> = (0..20)
        .map(|i| {
            let (rx, order) = (rx.clone(), order.clone());
            let g = spawn(move || {
                let v = rx.recv();
                order.lock().push((i, v))
            });
            while ringo::metrics::read().goroutines.waiting != before + i + 1 {
                sleep(Duration::from_micros(100))
            }
            g
        })
        .collect();
    for i in 0..20 {
        tx.send(i).map_err(|e| e.to_string())?
    }
    gs.into_iter().for_each(JoinHandle::join);
    for (i, v) in order.lock().iter() {
        ensure!(*v == Some(*i), "receiver {i} got {v:?}");
    }
    Ok(())
}

/// Go: chan/nonblock, select3: what each operation does on a channel in each state.
fn chan_matrix() -> Outcome {
    for cap in [0, 1, 3] {
        let (tx, rx) = chan::<u8>(cap);
        // Open, empty, nobody on the other side.
        ensure!(rx.try_recv() == Err(TryRecvError::Empty), "{cap}: empty");
        let sent = tx.try_send(1).is_ok();
        ensure!(sent == (cap > 0), "{cap}: try_send says {sent}");
        let blocks = blocks(move || rx.recv());
        ensure!(blocks == (cap == 0), "{cap}: recv waits: {blocks}");
        drop(tx);
        // Full.
        let (tx, rx) = chan::<u8>(cap);
        (0..cap)
            .try_for_each(|_| tx.send(2))
            .map_err(|e| e.to_string())?;
        let t = tx.clone();
        ensure!(
            self::blocks(move || t.send(3)),
            "{cap}: send into a full one does not wait"
        );
        ensure!(
            rx.try_recv().is_ok(),
            "{cap}: nothing from the one that waits"
        );
        // Closed.
        tx.close();
        while rx.try_recv().is_ok() {}
        ensure!(rx.try_recv() == Err(TryRecvError::Closed), "{cap}: closed");
        ensure!(
            matches!(tx.try_send(1), Err(TrySendError::Closed(1))),
            "{cap}: try_send on closed"
        );
        ensure!(tx.send(1).is_err() && rx.recv().is_none(), "{cap}: closed");
    }
    // A nil channel.
    let nil = never::<u8>();
    ensure!(nil.try_recv() == Err(TryRecvError::Empty), "nil: try_recv");
    ensure!(!nil.close() && nil.capacity() == 0, "nil: close, capacity");
    ensure!(blocks(|| never::<u8>().recv()), "nil: recv ends");
    // Everybody on one side is gone.
    let (tx, rx) = chan::<u8>(1);
    drop(rx);
    ensure!(tx.send(1).is_err(), "send without a receiver");
    let (tx, rx) = chan::<u8>(1);
    drop(tx);
    ensure!(rx.recv().is_none(), "recv without a sender");
    Ok(())
}

/// Does `f` wait? It stays behind if it does.
fn blocks<T>(f: impl FnOnce() -> T + Send + 'static) -> bool {
    let done = Arc::new(AtomicBool::new(false));
    let d = done.clone();
    go(move || {
        f();
        d.store(true, Release)
    });
    for _ in 0..20 {
        sleep(Duration::from_micros(500));
        if done.load(Acquire) {
            return false;
        }
    }
    true
}

/// Go: chan/zerosize, and elements that are larger than a page.
fn chan_zero_size_and_large() -> Outcome {
    for cap in [0, 1, 1000] {
        let (tx, rx) = chan::<()>(cap);
        go(move || (0..1500).for_each(|_| tx.send(()).unwrap()));
        let n = rx.into_iter().count();
        ensure!(n == 1500, "{n} of nothing");
    }
    for cap in [0, 3] {
        let (tx, rx) = chan::<[u64; 1500]>(cap);
        go(move || (0..50).for_each(|i| tx.send([i; 1500]).unwrap()));
        for (i, v) in rx.iter().enumerate() {
            ensure!(
                v.iter().all(|w| *w == i as u64),
                "element {i} of 12,000 bytes"
            );
        }
    }
    Ok(())
}
