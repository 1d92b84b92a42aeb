//! Lines on both sides of the console at a time, from goroutines that compute between them.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const LINES: usize = 2000;

fn main() {
    let done = WaitGroup::new();
    done.go(|| (0..LINES).for_each(|n| println!("to the console goes line {n:04}, and this is its end")));
    done.go(|| (0..LINES).for_each(|n| eprintln!("to the error side goes line {n:04}, and this is its end")));
    done.wait();
}
