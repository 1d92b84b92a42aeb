//! A barrier of a mutex and a condition: nobody begins a phase before all have ended the last.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

const WORKERS: u32 = 8;
const PHASES: usize = 5;

#[derive(Default)]
struct State {
    here: u32,
    generation: u32,
}

#[derive(Default)]
struct Barrier {
    state: Mutex<State>,
    all: Cond,
}

impl Barrier {
    /// True to one of those that waited.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        state.here += 1;
        if state.here == WORKERS {
            state.here = 0;
            state.generation += 1;
            self.all.notify_all();
            return true;
        }
        let generation = state.generation;
        while state.generation == generation {
            state = self.all.wait(state);
        }
        false
    }
}

fn main() {
    let barrier = Barrier::default();
    let done: [AtomicU32; PHASES] = Default::default();
    let early = AtomicU32::new(0);
    scope(|s| {
        for _ in 0..WORKERS {
            s.go(|| {
                for (phase, done) in done.iter().enumerate() {
                    done.fetch_add(1, SeqCst);
                    let last = barrier.wait();
                    if done.load(SeqCst) != WORKERS {
                        early.fetch_add(1, SeqCst);
                    }
                    if last {
                        println!("phase {phase} ended by {}", done.load(SeqCst));
                    }
                    barrier.wait();
                }
            });
        }
    });
    let generations = barrier.state.into_inner().generation;
    println!(
        "too early: {} - generations: {generations}",
        early.into_inner()
    );
}
