//! `select!`: Go's tests (runtime/chan_test.go, test/chan/select*), in our words.

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("select_default_race", select_default_race),
    ("select_self", select_self),
    ("select_stress", select_stress),
    ("select_is_fair", select_is_fair),
    ("select_operands_once", select_operands_once),
    ("select_leaves_nothing", select_leaves_nothing),
    ("select_same_channel_twice", select_same_channel_twice),
    ("select_closed_and_never", select_closed_and_never),
    ("select_close_wakes_all", select_close_wakes_all),
];

/// Go: NonblockSelectRace: of two channels one is always ready, so `default` is never taken.
fn select_default_race() -> Outcome {
    for round in 0..param("rounds", 2000) {
        let ((tx1, rx1), (tx2, rx2)) = (chan::<u8>(1), chan::<u8>(1));
        tx1.send(1).map_err(|e| e.to_string())?;
        let (r1, r2) = (rx1.clone(), rx2.clone());
        let look = spawn(move || {
            select! { recv(r1) -> _v => true, recv(r2) -> _v => true, default => false }
        });
        tx2.send(1).map_err(|e| e.to_string())?;
        select! { recv(rx1) -> _v => {}, default => {} }
        ensure!(look.join(), "round {round}: default although one was ready");
    }
    Ok(())
}

/// Go: SelfSelect: two that send to and receive from one channel: nobody receives its own value.
fn select_self() -> Outcome {
    for cap in [0, 10] {
        let (tx, rx) = chan::<u64>(cap);
        let gs: Vec<_> = (0..2u64)
            .map(|me| {
                let (tx, rx) = (tx.clone(), rx.clone());
                spawn(move || {
                    let mut own = 0;
                    for i in 0..param("rounds", 1000) {
                        let got = if (me + i) % 2 == 0 {
                            select! { send(tx, me) -> _r => None, recv(rx) -> v => v }
                        } else {
                            select! { recv(rx) -> v => v, send(tx, me) -> _r => None }
                        };
                        own += u64::from(got == Some(me))
                    }
                    // Whoever is left alone would wait for ever.
                    tx.close();
                    own
                })
            })
            .collect();
        let own: u64 = gs.into_iter().map(JoinHandle::join).sum();
        ensure!(cap != 0 || own == 0, "{own} received their own value");
    }
    Ok(())
}

/// Go: SelectStress: four channels, plain and selecting senders and receivers; all counts are exact.
fn select_stress() -> Outcome {
    let n = param("values", 1000);
    let channels: Vec<_> = [0, 0, 2, 3].into_iter().map(chan::<usize>).collect();
    let wg = Arc::new(WaitGroup::new());
    for (tx, _) in &channels {
        let tx = tx.clone();
        wg.go(move || (0..n).for_each(|i| tx.send(i as usize).unwrap()))
    }
    let txs: Vec<_> = channels.iter().map(|c| c.0.clone()).collect();
    wg.go(move || {
        let mut left = [n; 4];
        let txs: Vec<_> = txs.into_iter().map(Some).collect();
        while left != [0; 4] {
            let t = |i: usize| if left[i] > 0 { txs[i].clone() } else { None };
            send_one([t(0), t(1), t(2), t(3)], &mut left)
        }
    });
    for (_, rx) in &channels {
        let rx = rx.clone();
        wg.go(move || (0..n).for_each(|_| _ = rx.recv()))
    }
    let rxs: Vec<_> = channels.iter().map(|c| c.1.clone()).collect();
    wg.go(move || {
        let mut left = [n; 4];
        while left != [0; 4] {
            let r = |i: usize| if left[i] > 0 { rxs[i].clone() } else { never() };
            let i = select! {
                recv(r(0)) -> _v => 0,
                recv(r(1)) -> _v => 1,
                recv(r(2)) -> _v => 2,
                recv(r(3)) -> _v => 3,
            };
            left[i] -= 1
        }
    });
    wg.wait();
    ensure!(channels.iter().all(|c| c.1.is_empty()), "values are left");
    Ok(())
}

/// One send on any of those that are there; a full channel with no receiver stands for one that is not.
fn send_one(txs: [Option<Sender<usize>>; 4], left: &mut [u64; 4]) {
    let ((nil, _keep), spare) = (chan::<usize>(0), 0);
    let [a, b, c, d] = txs.map(|t| t.unwrap_or_else(|| nil.clone()));
    let i = select! {
        send(a, spare) -> _r => 0,
        send(b, spare) -> _r => 1,
        send(c, spare) -> _r => 2,
        send(d, spare) -> _r => 3,
    };
    left[i] -= 1
}

/// Go: PseudoRandomSend, and the same for receiving: of several that are ready each gets its share.
fn select_is_fair() -> Outcome {
    let n = param("rounds", 4000);
    for cap in [0, 4] {
        let (tx, rx) = chan::<u8>(cap);
        let reader = spawn(move || rx.into_iter().filter(|b| *b == 1).count() as u64);
        for _ in 0..n {
            select! { send(tx, 0) -> _r => {}, send(tx, 1) -> _r => {} }
        }
        drop(tx);
        let ones = reader.join();
        ensure!(
            (n * 4 / 10..=n * 6 / 10).contains(&ones),
            "{ones} ones of {n}"
        );
    }
    let always: Vec<_> = (0..4)
        .map(|_| {
            let (tx, rx) = chan::<()>(0);
            drop(tx);
            rx
        })
        .collect();
    // Dead ones between them change nothing (golang/go #21806, #22047).
    let (dead, quiet) = (never::<()>(), chan::<()>(0));
    let mut seen = [0u64; 4];
    for _ in 0..n {
        let i = select! {
            recv(always[0]) -> _v => 0,
            recv(dead) -> _v => 4,
            recv(always[1]) -> _v => 1,
            recv(always[2]) -> _v => 2,
            recv(quiet.1) -> _v => 4,
            recv(always[3]) -> _v => 3,
        };
        ensure!(i < 4, "a dead one was chosen");
        seen[i] += 1
    }
    figure!("least", seen.iter().min().copied().unwrap_or(0));
    // A quarter each; the spread of a fair choice is 27 of 1000.
    ensure!(
        seen.iter().all(|s| s.abs_diff(n / 4) < n / 16),
        "chosen {seen:?} times"
    );
    Ok(())
}

/// Go: chan/select, select5: operands are evaluated once, in source order, those of cases that are not chosen too.
fn select_operands_once() -> Outcome {
    let log = Mutex::new(Vec::new());
    let note = |name: &'static str| log.lock().push(name);
    let ((tx, rx), (full, _keep)) = (chan::<u8>(1), chan::<u8>(0));
    tx.send(5).map_err(|e| e.to_string())?;
    let nil = never::<u8>();
    let got = select! {
        send({ note("full"); &full }, { note("value"); 1 }) -> _r => 0,
        recv({ note("never"); &nil }) -> _v => 1,
        recv({ note("rx"); &rx }) -> v => v.unwrap_or(0),
        default({ note("time"); Duration::from_secs(3600) }) => 2,
    };
    let order = log.lock().clone();
    ensure!(got == 5, "case {got}");
    ensure!(
        order == ["full", "value", "never", "rx", "time"],
        "evaluated {order:?}"
    );
    Ok(())
}

/// Go: chan/select2: many selects that wait leave no memory behind.
fn select_leaves_nothing() -> Outcome {
    let ((tx, rx), (quiet, never_sent)) = (chan::<u64>(0), chan::<u64>(0));
    let n = param("rounds", 40_000);
    let sender = spawn(move || (0..n).for_each(|i| tx.send(i).unwrap()));
    let take = |n: u64| {
        for _ in 0..n {
            select! {
                recv(rx) -> _v => {},
                recv(never_sent) -> _v => {},
                default(Duration::from_secs(3600)) => {},
            }
        }
    };
    take(n / 10);
    let before = ringo::machine::used_bytes();
    take(n - n / 10);
    let after = ringo::machine::used_bytes();
    sender.join();
    drop(quiet);
    if let (Some(before), Some(after)) = (before, after) {
        figure!("grown_kib", after.saturating_sub(before) / 1024);
        ensure!(
            after < before + (1 << 20), // 29 bytes a round
            "memory grew by {} bytes",
            after - before
        );
    }
    Ok(())
}

/// The same channel in several cases, and on both sides.
fn select_same_channel_twice() -> Outcome {
    let (tx, rx) = chan::<u64>(0);
    let n = param("rounds", 2000);
    let other = spawn({
        let (tx, rx) = (tx.clone(), rx.clone());
        move || {
            (0..n)
                .map(|i| {
                    select! {
                        recv(rx) -> v => v.unwrap_or(0),
                        recv(rx) -> v => v.unwrap_or(0),
                        send(tx, i) -> _r => 0,
                        send(tx, i) -> _r => 0,
                    }
                })
                .filter(|v| *v == u64::MAX)
                .count() as u64
        }
    });
    let mut sent = 0;
    for _ in 0..n {
        sent += select! {
            send(tx, u64::MAX) -> _r => 1,
            send(tx, u64::MAX) -> _r => 1,
            recv(rx) -> _v => 0,
        }
    }
    let received = other.join();
    ensure!(received == sent, "{sent} sent, {received} received");
    Ok(())
}

/// Go: chan/select6, select7: closed channels are ready, `never` is not, in company and alone.
fn select_closed_and_never() -> Outcome {
    let (tx, closed) = chan::<u8>(0);
    tx.close();
    let nil = never::<u8>();
    for _ in 0..100 {
        let v = select! { recv(nil) -> _v => Some(1), recv(closed) -> v => v };
        ensure!(v.is_none(), "{v:?}");
        let r = select! { send(tx, 1) -> r => r.is_err(), recv(nil) -> _v => false };
        ensure!(r, "sent on a closed channel");
        let d = select! { recv(nil) -> _v => false, default => true };
        ensure!(d, "never came");
    }
    static RAN: AtomicBool = AtomicBool::new(false);
    go(|| {
        let nil = never::<u8>();
        select! { recv(nil) -> _v => {} }
        RAN.store(true, Relaxed)
    });
    sleep(Duration::from_millis(5));
    ensure!(!RAN.load(Relaxed), "never came");
    Ok(())
}

/// A close wakes all that wait in selects, each once.
fn select_close_wakes_all() -> Outcome {
    static WOKEN: AtomicU64 = AtomicU64::new(0);
    for round in 1..=param("rounds", 50) {
        let ((tx, rx), (other, quiet)) = (chan::<u8>(0), chan::<u8>(0));
        let gs: Vec<_> = (0..20)
            .map(|i| {
                let (rx, quiet) = (rx.clone(), quiet.clone());
                spawn(move || {
                    let ended = if i % 2 == 0 {
                        select! { recv(rx) -> v => v.is_none(), recv(quiet) -> _v => false }
                    } else {
                        select! { recv(quiet) -> _v => false, recv(rx) -> v => v.is_none() }
                    };
                    WOKEN.fetch_add(u64::from(ended), Relaxed)
                })
            })
            .collect();
        yield_now();
        tx.close();
        gs.into_iter().for_each(|g| _ = g.join());
        drop(other);
        let woken = WOKEN.load(Relaxed);
        ensure!(woken == 20 * round, "{woken} woken after round {round}");
    }
    Ok(())
}
