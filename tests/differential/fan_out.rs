//! One source, four workers, one sink: the longest way to 1 by Collatz's rule.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) {
            n / 2
        } else {
            3 * n + 1
        };
        steps += 1;
    }
    steps
}

fn main() {
    let (tx, numbers) = chan(0);
    go(move || (1..=1000).for_each(|n| tx.send(n).unwrap()));

    let (tx, results) = chan(0);
    for _ in 0..4 {
        let (numbers, tx) = (numbers.clone(), tx.clone());
        go(move || {
            numbers
                .iter()
                .for_each(|n| tx.send((n, collatz(n))).unwrap())
        });
    }
    drop(tx); // the last worker's sender closes

    let (mut count, mut total, mut best) = (0, 0, (0, 0));
    for (n, steps) in &results {
        count += 1;
        total += steps;
        if steps > best.1 || steps == best.1 && n < best.0 {
            best = (n, steps);
        }
    }
    println!(
        "{count} numbers, {total} steps; most for {} with {}",
        best.0, best.1
    );
}
