//! Three producers, one consumer: a channel that is closed becomes a case that is off.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn count(n: i32, step: i32) -> Receiver<i32> {
    let (out, rx) = chan(0);
    go(move || (0..n).for_each(|i| out.send(i * step).unwrap()));
    rx
}

struct Tally {
    seen: u32,
    last: i32,
    ordered: bool,
}

impl Tally {
    fn new() -> Tally {
        Tally {
            seen: 0,
            last: -1,
            ordered: true,
        }
    }

    fn take(&mut self, v: i32) {
        self.ordered &= v > self.last;
        self.seen += 1;
        self.last = v;
    }
}

fn main() {
    let (mut a, mut b, mut c) = (count(30, 1), count(20, 10), count(10, 100));
    let (mut ta, mut tb, mut tc) = (Tally::new(), Tally::new(), Tally::new());
    let mut open = 3;
    while open > 0 {
        // An arm for each: what came, or that nothing more will come.
        let closed = select! {
            recv(a) -> v => v.map_or(Some(&mut a), |v| { ta.take(v); None }),
            recv(b) -> v => v.map_or(Some(&mut b), |v| { tb.take(v); None }),
            recv(c) -> v => v.map_or(Some(&mut c), |v| { tc.take(v); None }),
        };
        if let Some(channel) = closed {
            *channel = never();
            open -= 1;
        }
    }
    for t in [ta, tb, tc] {
        println!("{} {} {}", t.seen, t.last, t.ordered);
    }
}
