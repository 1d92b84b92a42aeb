//! The smallest program there is.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn main() {
    println!("> goroutine {} says hello", current().id());
    println!("> several CPUs: {}", num_cpu() >= 1);
}
