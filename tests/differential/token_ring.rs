//! A token goes round a ring of 503 goroutines 10,000 times: who has it last?
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const MEMBERS: u32 = 503;
const PASSES: u32 = 10_000;

/// Answers true if it has the token last. When it ends, its `to` closes, and so the ring falls apart.
fn member(from: Receiver<u32>, to: Sender<u32>) -> bool {
    for token in &from {
        if token == 0 {
            return true;
        }
        to.send(token - 1).unwrap();
    }
    false
}

fn main() {
    let (first, mut from) = chan(1);
    let mut ring = vec![];
    for number in 1..=MEMBERS {
        let (to, next) = match number {
            MEMBERS => (first.clone(), never()),
            _ => chan(1),
        };
        ring.push(spawn(move || member(from, to)));
        from = next;
    }
    first.send(PASSES).unwrap();
    drop(first);
    for (number, handle) in (1..).zip(ring) {
        if handle.join() {
            println!("the last one is {number}");
        }
    }
}
