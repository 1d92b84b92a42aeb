//! Producers and consumers around one bounded channel. `-- N`: values in all.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const PRODUCERS: u64 = 4;
const CONSUMERS: usize = 3;
const ROOM: usize = 16;

fn main() -> Result<(), String> {
    let values = ringo::args::number("values", 200_000, 1..=100_000_000);
    let (tx, rx) = chan::<u64>(ROOM);
    let start = Instant::now();

    for p in 0..PRODUCERS {
        let tx = tx.clone();
        // Every fourth number, each producer another set.
        go(move || {
            (p..values)
                .step_by(PRODUCERS as usize)
                .for_each(|v| tx.send(v).unwrap())
        });
    }
    // Each producer has its own handle; when the last one is dropped the channel closes and the consumers' loops end.
    drop(tx);
    let consumers: Vec<_> = (0..CONSUMERS)
        .map(|_| {
            let rx = rx.clone();
            spawn(move || {
                let (mut n, mut sum) = (0u64, 0u64);
                for v in &rx {
                    n += 1;
                    sum += v;
                }
                (n, sum)
            })
        })
        .collect();
    let shares: Vec<(u64, u64)> = consumers.into_iter().map(|c| c.join()).collect();

    let took = start.elapsed();
    println!(
        "{values} values from {PRODUCERS} producers to {CONSUMERS} consumers through room for {ROOM} in {took:.1?}: {} ns each",
        took.as_nanos() as u64 / values
    );
    for (i, (n, _)) in shares.iter().enumerate() {
        println!("consumer {i} took {n}");
    }
    let n: u64 = shares.iter().map(|s| s.0).sum();
    let sum: u64 = shares.iter().map(|s| s.1).sum();
    let right = values * (values - 1) / 2;
    if (n, sum) == (values, right) {
        println!("none lost, none twice: the sum is {sum}");
        Ok(())
    } else {
        Err(format!(
            "{n} values with sum {sum} arrived, but {values} with sum {right} were sent"
        ))
    }
}
