//! What a choice among four channels costs.

use crate::{Params, Sample};
use core::array;
use core::hint::black_box;
use ringo::prelude::*;

/// Four goroutines send 50,000 items each over a channel of their own without room; one receives from whichever is ready.
pub fn recv(p: &Params) -> Sample {
    let n = p.scaled(200_000);
    let each = (n / 4).max(1);
    // The channels stay open: a closed one would be ready for ever.
    let c: [(Sender<u64>, Receiver<u64>); 4] = array::from_fn(|_| chan(0));
    for (tx, _) in &c {
        let tx = tx.clone();
        go(move || {
            for i in 0..each {
                tx.send(i).expect("who receives is there to the end")
            }
        });
    }
    let (mut sum, begin) = (0, Instant::now());
    for _ in 0..4 * each {
        let v = select! {
            recv(c[0].1) -> v => v,
            recv(c[1].1) -> v => v,
            recv(c[2].1) -> v => v,
            recv(c[3].1) -> v => v,
        };
        sum += v.unwrap_or(0)
    }
    let elapsed = begin.elapsed();
    assert_eq!(sum, 4 * (each * (each - 1) / 2), "items were lost");
    Sample::timed(elapsed, 4 * each)
        .param("chans", 4)
        .param("cap", 0)
        .param("items", n)
        .param("senders", 4)
}

/// Nobody else: four channels that are full; one item is taken and put back, 500,000 times.
pub fn ready(p: &Params) -> Sample {
    let n = p.scaled(500_000);
    let c: [(Sender<u64>, Receiver<u64>); 4] = array::from_fn(|_| chan(1));
    for (i, (tx, _)) in c.iter().enumerate() {
        tx.send(i as u64).expect("its receiver is here")
    }
    let put_back = |i: usize, v: Option<u64>| {
        let v = v.expect("its sender is here");
        c[i].0.send(v).expect("its receiver is here")
    };
    let begin = Instant::now();
    for _ in 0..n {
        select! {
            recv(c[0].1) -> v => put_back(0, v),
            recv(c[1].1) -> v => put_back(1, v),
            recv(c[2].1) -> v => put_back(2, v),
            recv(c[3].1) -> v => put_back(3, v),
        }
    }
    Sample::timed(begin.elapsed(), n)
        .param("chans", 4)
        .param("cap", 1)
        .param("iters", n)
}

/// Nobody else: four channels that are empty, and a default, 500,000 times.
pub fn default(p: &Params) -> Sample {
    let n = p.scaled(500_000);
    let c: [(Sender<u64>, Receiver<u64>); 4] = array::from_fn(|_| chan(0));
    let (mut defaults, begin) = (0, Instant::now());
    for _ in 0..n {
        select! {
            recv(c[0].1) -> v => { black_box(v); },
            recv(c[1].1) -> v => { black_box(v); },
            recv(c[2].1) -> v => { black_box(v); },
            recv(c[3].1) -> v => { black_box(v); },
            default => defaults += 1,
        }
    }
    let elapsed = begin.elapsed();
    assert_eq!(defaults, n, "something came out of an empty channel");
    Sample::timed(elapsed, n)
        .param("chans", 4)
        .param("iters", n)
}
