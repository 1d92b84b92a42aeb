//! Hamming's numbers, 2^a 3^b 5^c in order: a network of goroutines that feeds itself.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const WANTED: usize = 40;
const ROOM: usize = 100;

fn times(factor: u32, input: Receiver<u32>) -> Receiver<u32> {
    let (out, rx) = chan(ROOM);
    go(move || {
        for n in &input {
            if out.send(factor * n).is_err() {
                return;
            }
        }
    });
    rx
}

/// Puts two rising streams into one, without what is in both.
fn merge(a: Receiver<u32>, b: Receiver<u32>) -> Receiver<u32> {
    let (out, rx) = chan(ROOM);
    go(move || {
        let (mut next_a, mut next_b) = (a.recv(), b.recv());
        while let (Some(x), Some(y)) = (next_a, next_b) {
            if out.send(x.min(y)).is_err() {
                return;
            }
            if x <= y {
                next_a = a.recv();
            }
            if y <= x {
                next_b = b.recv();
            }
        }
    });
    rx
}

fn main() {
    let ((to2, by2), (to3, by3), (to5, by5)) = (chan(ROOM), chan(ROOM), chan(ROOM));
    let next = merge(times(2, by2), merge(times(3, by3), times(5, by5)));
    let mut n = 1;
    for _ in 0..WANTED {
        println!("{n}");
        for to in [&to2, &to3, &to5] {
            to.send(n).unwrap();
        }
        n = next.recv().unwrap();
    }
}
