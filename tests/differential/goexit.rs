//! A closed channel as a starting gun, and goroutines that end in the middle of what they do.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

static STARTED: AtomicU32 = AtomicU32::new(0);
static RETURNED: AtomicU32 = AtomicU32::new(0);

fn run(number: u32) {
    STARTED.fetch_add(1, SeqCst);
    if number.is_multiple_of(3) {
        goexit();
    }
    RETURNED.fetch_add(1, SeqCst);
}

fn main() {
    let (shot, gate) = chan::<()>(0);
    let runners = WaitGroup::new();
    for number in 0..100 {
        let gate = gate.clone();
        runners.go(move || {
            gate.recv();
            drop(gate); // goexit would not
            run(number);
        });
    }
    for _ in 0..1000 {
        yield_now();
    }
    println!("before the shot: {}", STARTED.load(SeqCst));
    shot.close();
    runners.wait();
    println!(
        "started {} - returned {}",
        STARTED.load(SeqCst),
        RETURNED.load(SeqCst)
    );
    println!("the gate stays open: {}", gate.recv().is_none());
}
