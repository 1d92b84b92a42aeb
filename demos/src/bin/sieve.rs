//! The prime sieve of goroutines: one for each prime, each a filter in a chain. `-- N`: how many primes.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

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

fn primes_by_goroutines(count: usize) -> Vec<u32> {
    let (tx, mut rx) = chan(0);
    go(move || generate(tx));
    let mut primes = Vec::with_capacity(count);
    while let Some(prime) = rx.recv() {
        primes.push(prime);
        if primes.len() == count {
            break;
        }
        let (tx, next) = chan(0);
        let from = core::mem::replace(&mut rx, next);
        go(move || filter(prime, from, tx));
    }
    // Dropping the end of the chain ends it: each filter's send fails, and its own receiver goes.
    primes
}

/// The same by trial division, to check against.
fn primes_by_division(count: usize) -> Vec<u32> {
    let mut primes: Vec<u32> = Vec::with_capacity(count);
    let mut n = 2;
    while primes.len() < count {
        if primes
            .iter()
            .take_while(|&&p| p * p <= n)
            .all(|p| n % p != 0)
        {
            primes.push(n);
        }
        n += 1;
    }
    primes
}

fn main() -> Result<(), String> {
    let count = ringo::args::number("primes", 2000, 1..=20_000) as usize;
    let before = num_goroutine();
    let start = Instant::now();
    let primes = primes_by_goroutines(count);
    let took = start.elapsed();
    let last = primes.last().copied().unwrap_or(0);
    println!("{count} primes up to {last} from {count} goroutines in {took:.1?}");
    if primes != primes_by_division(count) {
        return Err("they are not the primes that trial division finds".to_string());
    }
    println!("the same as by trial division");

    let start = Instant::now();
    while num_goroutine() > before {
        if start.elapsed() > Duration::from_secs(20) {
            let left = num_goroutine() - before;
            return Err(format!("{left} filters are still there after 20 s"));
        }
        sleep(Duration::from_millis(1));
    }
    println!("all filters ended {:.1?} later", start.elapsed());
    Ok(())
}
