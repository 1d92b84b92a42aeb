//! Does nothing: the shortest life of a process.
#![no_std]
#![no_main]
rt::main!(main);

fn main() {}
