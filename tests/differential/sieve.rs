//! The primes below 100, from a chain of filters.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const LIMIT: u32 = 100;

fn generate(out: Sender<u32>) {
    for n in 2..LIMIT {
        out.send(n).unwrap();
    }
}

fn filter(prime: u32, numbers: Receiver<u32>, out: Sender<u32>) {
    for n in &numbers {
        if n % prime != 0 {
            out.send(n).unwrap();
        }
    }
}

fn main() {
    let (tx, mut numbers) = chan(0);
    go(move || generate(tx));
    while let Some(prime) = numbers.recv() {
        println!("{prime}");
        let (out, rest) = chan(0);
        go(move || filter(prime, numbers, out));
        numbers = rest;
    }
}
