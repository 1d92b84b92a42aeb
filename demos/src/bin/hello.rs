//! One goroutine says hello.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);
fn main() {
    println!("hello from goroutine {} on {} CPUs", current().id(), num_cpu());
}
