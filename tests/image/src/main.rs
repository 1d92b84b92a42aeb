//! Every test that needs a machine, as a function of one kernel image. A boot runs one: its first argument is the name,
//! further ones are `key=number` (see [`param`]). `list` prints all names.
//!
//! A test ends with status 0, or with 1 and what it found; those that end the machine by force do that. A test that
//! hangs has failed as well: the harness has the clock, this side counts.
#![no_std]
#![no_main]

extern crate alloc;

mod param;
mod wait;

mod bad_ends;
mod bubbles;
mod burden;
mod chan_programs;
mod chans;
mod clocks;
#[cfg(ringo_kernel)]
mod core_walk;
mod disk;
mod dumps;
#[cfg(ringo_kernel)]
mod exceptions;
mod exit_rules;
mod figures;
mod gomaxprocs;
mod handoff;
mod hangs;
mod idle;
mod ipi;
#[cfg(ringo_kernel)]
mod leaks;
mod locked;
mod locked_p;
#[cfg(ringo_kernel)]
mod memory;
mod pairs;
mod policy;
mod preempt;
mod queues;
#[cfg(ringo_kernel)]
mod regs;
mod rwmutex;
mod sched_fair;
mod sched_life;
mod selects;
mod soak;
#[cfg(ringo_kernel)]
mod stacks;
#[cfg(ringo_kernel)]
mod step;
mod stress;
mod stw;
mod syncs;
mod timers;
mod wake;
mod wakeup;

use alloc::string::String;
use ringo::prelude::*;
ringo::main!(main);

/// What a test says: the error is a sentence.
type Outcome = Result<(), String>;

/// A test: its name, and what it does.
type Test = (&'static str, fn() -> Outcome);

#[cfg(ringo_kernel)]
const BARE: &[&[Test]] = &[
    exceptions::TESTS,
    leaks::TESTS,
    memory::TESTS,
    regs::TESTS,
    stacks::TESTS,
    step::TESTS,
];
#[cfg(not(ringo_kernel))]
const BARE: &[&[Test]] = &[];

const AREAS: &[&[Test]] = &[
    bad_ends::TESTS,
    bubbles::TESTS,
    chan_programs::TESTS,
    chans::TESTS,
    clocks::TESTS,
    burden::TESTS,
    selects::TESTS,
    syncs::TESTS,
    disk::TESTS,
    dumps::TESTS,
    exit_rules::TESTS,
    hangs::TESTS,
    figures::TESTS,
    policy::TESTS,
    gomaxprocs::TESTS,
    handoff::TESTS,
    idle::TESTS,
    ipi::TESTS,
    locked::TESTS,
    locked_p::TESTS,
    pairs::TESTS,
    preempt::TESTS,
    queues::TESTS,
    rwmutex::TESTS,
    sched_fair::TESTS,
    sched_life::TESTS,
    soak::TESTS,
    stress::TESTS,
    stw::TESTS,
    timers::TESTS,
    wake::TESTS,
    wakeup::TESTS,
];

fn tests() -> impl Iterator<Item = Test> {
    AREAS.iter().chain(BARE).copied().flatten().copied()
}

fn main() -> Outcome {
    let mut words = args();
    let name = words.next().unwrap_or_default();
    param::set(words);
    if name == "list" {
        tests().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    match tests().find(|(n, _)| *n == name) {
        Some((_, run)) => run(),
        None => Err(format!(
            "there is no test {name}; the argument `list` names all"
        )),
    }
}

/// Fails the test with a formatted sentence unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($cond:expr, $($text:tt)+) => {
        let holds: bool = $cond;
        if !holds {
            return Err(::alloc::format!($($text)+));
        }
    };
}

/// Prints a figure for the harness's table.
#[macro_export]
macro_rules! figure {
    ($name:literal, $value:expr) => {
        ::ringo::println!("= {} {}", $name, $value)
    };
}
