//! A buffer of four places made of a mutex and two conditions.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::VecDeque;
use ringo::prelude::*;
ringo::main!(main);

const ROOM: usize = 4;
const PRODUCERS: u64 = 3;
const EACH: u64 = 100;

#[derive(Default)]
struct State {
    items: VecDeque<u64>,
    most: usize,
}

struct Buffer {
    state: Mutex<State>,
    not_empty: Cond,
    not_full: Cond,
}

impl Buffer {
    fn put(&self, v: u64) {
        let mut state = self.state.lock();
        while state.items.len() == ROOM {
            state = self.not_full.wait(state);
        }
        state.items.push_back(v);
        state.most = state.most.max(state.items.len());
        self.not_empty.notify_one();
    }

    fn get(&self) -> u64 {
        let mut state = self.state.lock();
        loop {
            if let Some(v) = state.items.pop_front() {
                self.not_full.notify_one();
                return v;
            }
            state = self.not_empty.wait(state);
        }
    }
}

fn main() {
    let buffer = Buffer {
        state: Mutex::default(),
        not_empty: Cond::new(),
        not_full: Cond::new(),
    };
    let b = &buffer;
    let sum: u64 = scope(|s| {
        for p in 0..PRODUCERS {
            s.go(move || (0..EACH).for_each(|i| b.put(p * 1000 + i)));
        }
        let half = || (0..PRODUCERS * EACH / 2).map(|_| b.get()).sum::<u64>();
        let consumers = [s.spawn(half), s.spawn(half)];
        consumers.map(|c| c.join()).into_iter().sum()
    });
    println!("sum {sum}");
    let state = buffer.state.into_inner();
    println!(
        "left {} - never more than {ROOM} {}",
        state.items.len(),
        state.most <= ROOM
    );
}
