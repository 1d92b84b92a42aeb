//! Cigarette smokers: an agent lays out two of three things, who has the third one smokes.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicBool, Ordering::*};
use ringo::prelude::*;
ringo::main!(main);

const NAMES: [&str; 3] = ["tobacco", "paper", "matches"];

static TABLE: Semaphore = Semaphore::new(0);
static TURN: [Semaphore; 3] = [const { Semaphore::new(0) }; 3];
static ORDER: Mutex<String> = Mutex::new(String::new());
static STOP: AtomicBool = AtomicBool::new(false);

fn smoker(me: usize) -> u32 {
    for smoked in 0.. {
        TURN[me].acquire();
        if STOP.load(Acquire) {
            return smoked;
        }
        ORDER.lock().push_str(&NAMES[me][..1]);
        TABLE.release();
    }
    unreachable!()
}

fn main() {
    let smokers = [0, 1, 2].map(|me| spawn(move || smoker(me)));
    let mut seed = 7u32;
    for _ in 0..30 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        TURN[seed as usize / 65536 % 3].release();
        TABLE.acquire();
    }
    STOP.store(true, Release);
    TURN.iter().for_each(Semaphore::release);
    for (name, smoker) in NAMES.iter().zip(smokers) {
        println!("who has {name} smoked {} times", smoker.join());
    }
    println!("{}", ORDER.lock());
}
