//! Ten thousand goroutines in a row: each adds one to what comes from its right.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const LINKS: u32 = 10_000;

fn pass(left: Sender<u32>, right: Receiver<u32>) {
    let n = right.recv().unwrap();
    left.send(n + 1).unwrap();
}

fn main() {
    let (mut left, leftmost) = chan(0);
    for _ in 0..LINKS {
        let (tx, right) = chan(0);
        go(move || pass(left, right));
        left = tx;
    }
    left.send(0).unwrap();
    println!("{}", leftmost.recv().unwrap());
}
