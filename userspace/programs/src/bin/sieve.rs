//! The prime sieve of threads: one for each prime, each a filter in a chain of channels. `sieve [PRIMES]`: 200 if not said.
#![no_std]
#![no_main]
use rt::prelude::*;
rt::main!(main);

/// Sends 2, 3, 4, … until nobody listens.
fn generate(out: Sender<u32>) {
    for n in 2.. {
        if out.send(n).is_err() {
            return;
        }
    }
}

/// Passes on what `prime` does not divide.
fn filter(prime: u32, from: Receiver<u32>, to: Sender<u32>) {
    for n in &from {
        if n % prime != 0 && to.send(n).is_err() {
            return;
        }
    }
}

fn primes_by_threads(count: usize, threads: &WaitGroup) -> Vec<u32> {
    let (tx, mut rx) = chan(0);
    threads.go(move || generate(tx));
    let mut primes = Vec::with_capacity(count);
    while let Some(prime) = rx.recv() {
        primes.push(prime);
        if primes.len() == count {
            break;
        }
        let (tx, next) = chan(0);
        let from = core::mem::replace(&mut rx, next);
        threads.go(move || filter(prime, from, tx));
    }
    // Dropping the end of the chain ends it: each filter's send fails, and its own receiver goes.
    primes
}

/// The same by trial division, to check against.
fn primes_by_division(count: usize) -> Vec<u32> {
    let is_prime = |n: &u32| {
        (2..)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    (2..).filter(is_prime).take(count).collect()
}

fn main() -> Result<(), &'static str> {
    let count = rt::args::number(0, "number of primes", 200, 1..=1000) as usize;
    let start = now();
    let threads = WaitGroup::new();
    let primes = primes_by_threads(count, &threads);
    let took = now() - start;
    let last = primes.last().copied().unwrap_or(0);
    println!("{count} primes up to {last} from {count} threads in {took:.1?}");
    if primes != primes_by_division(count) {
        return Err("they are not the primes that trial division finds");
    }
    threads.wait();
    println!("the same as by trial division, and all threads have ended");
    Ok(())
}
