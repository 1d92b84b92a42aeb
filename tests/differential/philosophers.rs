//! Dining philosophers: all take the left fork first, but one, so that they cannot wait in a circle.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const SEATS: usize = 5;
const COURSES: u32 = 200;

/// How often it was used.
type Fork = Mutex<u32>;

fn dine(first: &Fork, second: &Fork) -> u32 {
    let mut meals = 0;
    for _ in 0..COURSES {
        let mut first = first.lock();
        yield_now(); // the best moment for a deadlock
        let mut second = second.lock();
        *first += 1;
        *second += 1;
        meals += 1;
    }
    meals
}

fn main() {
    let forks: [Fork; SEATS] = [const { Mutex::new(0) }; SEATS];
    let mut meals = [0; SEATS];
    scope(|table| {
        for (seat, meals) in meals.iter_mut().enumerate() {
            let (mut left, mut right) = (&forks[seat], &forks[(seat + 1) % SEATS]);
            if seat == SEATS - 1 {
                (left, right) = (right, left);
            }
            table.go(move || *meals = dine(left, right));
        }
    });
    for (seat, (meals, fork)) in meals.into_iter().zip(forks).enumerate() {
        let used = fork.into_inner();
        println!("philosopher {seat} ate {meals} times; fork {seat} was used {used} times");
    }
}
