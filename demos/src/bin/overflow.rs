//! A goroutine that calls itself for ever runs into the guard page below its stack. Ends with status 2.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

/// Each call keeps a piece of stack; the black boxes keep the compiler from turning it into a loop.
#[inline(never)]
#[expect(unconditional_recursion, reason = "that is the point")]
fn deeper(level: u64, top: usize) -> u64 {
    let mut room = [level; 32];
    core::hint::black_box(&mut room);
    let here = (&raw const room).addr();
    if level.is_multiple_of(100) {
        println!("level {level}, {} KiB down", (top.max(here) - here) / 1024);
    }
    deeper(level + 1, top.max(here)) + core::hint::black_box(room)[0]
}

fn main() {
    if ringo::machine::IS_HOST {
        println!(
            "on the host machine the guard page is the operating system's, and the report is shorter"
        );
    }
    println!("{}", spawn(|| deeper(0, 0)).join());
}
