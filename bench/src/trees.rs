//! Whole programs of goroutines and channels: a tree, and a chain.

use crate::{Params, Sample};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use ringo::prelude::*;

/// Ten children for each node, six levels: a million leaves. Each sends its sum to its parent over a channel without room.
pub fn skynet(p: &Params) -> Sample {
    let leaves = if p.is_scaled_down() {
        10_000
    } else {
        1_000_000
    };
    let (tx, rx) = chan(0);
    let begin = Instant::now();
    go(move || node(&tx, 0, leaves));
    let sum = rx.recv();
    let elapsed = begin.elapsed();
    assert_eq!(sum, Some(leaves * (leaves - 1) / 2), "the sum");
    Sample::timed(elapsed, 1)
        .param("leaves", leaves)
        .word("op", "whole tree")
}

fn node(parent: &Sender<u64>, first: u64, leaves: u64) {
    let sum = if leaves == 1 {
        first
    } else {
        let (tx, rx) = chan(0);
        let each = leaves / 10;
        for i in 0..10 {
            let tx = tx.clone();
            go(move || node(&tx, first + i * each, each));
        }
        (0..10).filter_map(|_| rx.recv()).sum()
    };
    parent.send(sum).expect("the parent waits for it")
}

/// The last of so many primes, where it is known.
fn check(primes: u64, last: u64) {
    assert!(
        primes != 2000 || last == 17_389,
        "the 2,000th prime is not {last}"
    )
}

/// A filter for each prime, over channels without room, until the 2,000th prime has come through. Then the chain is drained.
pub fn sieve(p: &Params) -> Sample {
    let primes = p.scaled(2000);
    let stop = Arc::new(AtomicBool::new(false));
    let begin = Instant::now();
    let (tx, mut from) = chan::<u64>(0);
    let told = stop.clone();
    go(move || {
        let mut numbers = 2..;
        // Relaxed: a wish, of which nothing else follows.
        while !told.load(Relaxed) && numbers.next().is_some_and(|n| tx.send(n).is_ok()) {}
    });
    let mut last = 0;
    for _ in 0..primes {
        let prime = from.recv().expect("the numbers go on");
        last = prime;
        let (to, next) = chan::<u64>(0);
        go(move || {
            for n in &from {
                if n % prime != 0 {
                    to.send(n).expect("somebody receives to the end")
                }
            }
        });
        from = next
    }
    let elapsed = begin.elapsed();
    stop.store(true, Relaxed);
    for _ in &from {} // until all have closed theirs
    check(primes, last);
    Sample::timed(elapsed, 1)
        .param("primes", primes)
        .word("op", "whole run")
}

/// The same with a look at a quit channel at each receive and each send.
pub fn sieve_select(p: &Params) -> Sample {
    let primes = p.scaled(2000);
    let (quit, quits) = chan::<()>(0);
    let wg = WaitGroup::new();
    let begin = Instant::now();
    let (tx, mut from) = chan::<u64>(0);
    wg.add(1);
    let (quitting, done) = (quits.clone(), wg.clone());
    go(move || {
        for n in 2.. {
            select! {
                send(tx, n) -> _sent => (),
                recv(quitting) -> _q => break,
            }
        }
        done.done()
    });
    let mut last = 0;
    for _ in 0..primes {
        let prime = from.recv().expect("the numbers go on");
        last = prime;
        let (to, next) = chan::<u64>(0);
        wg.add(1);
        let (quitting, done) = (quits.clone(), wg.clone());
        go(move || {
            filter(&from, &to, &quitting, prime);
            done.done()
        });
        from = next
    }
    let elapsed = begin.elapsed();
    quit.close();
    wg.wait();
    check(primes, last);
    Sample::timed(elapsed, 1)
        .param("primes", primes)
        .word("op", "whole run")
}

fn filter(from: &Receiver<u64>, to: &Sender<u64>, quit: &Receiver<()>, prime: u64) {
    loop {
        let n = select! {
            recv(from) -> n => n,
            recv(quit) -> _q => return,
        };
        match n {
            Some(n) if n % prime == 0 => {}
            Some(n) => select! {
                send(to, n) -> _sent => (),
                recv(quit) -> _q => return,
            },
            None => return,
        }
    }
}
