//! Every test that needs a machine, as a function of one kernel image. A boot runs one, or some in turn: its first argument is
//! the name, or several with commas between them, of which one that ends in `*` stands for all that begin so; further ones are
//! `key=number` (see [`param`]). `list` prints all names.
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
mod clock_costs;
mod clocks;
mod conds;
#[cfg(ringo_kernel)]
mod core_walk;
mod disk;
mod dumps;
#[cfg(ringo_kernel)]
mod exceptions;
mod exit_rules;
mod figures;
#[cfg(ringo_kernel)]
mod goker;
mod gomaxprocs;
mod handoff;
mod hangs;
mod idle;
mod ipi;
#[cfg(ringo_kernel)]
mod leaks;
mod lock_waits;
mod locked;
mod locked_p;
#[cfg(ringo_kernel)]
mod memory;
#[cfg(ringo_kernel)]
mod net;
#[cfg(ringo_kernel)]
mod net_echo;
#[cfg(ringo_kernel)]
mod net_knock;
#[cfg(ringo_kernel)]
mod net_stack;
mod netpoll;
mod pairs;
#[cfg(ringo_kernel)]
mod pci;
mod policy;
mod preempt;
mod queues;
mod reach;
#[cfg(ringo_kernel)]
mod regs;
mod rwmutex;
mod sched_fair;
mod sched_life;
mod selects;
mod shared;
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
    goker::TESTS,
    leaks::TESTS,
    memory::TESTS,
    net::TESTS,
    net_echo::TESTS,
    net_knock::TESTS,
    net_stack::TESTS,
    pci::TESTS,
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
    clock_costs::TESTS,
    clocks::TESTS,
    conds::TESTS,
    burden::TESTS,
    selects::TESTS,
    syncs::TESTS,
    disk::TESTS,
    dumps::TESTS,
    exit_rules::TESTS,
    hangs::TESTS,
    figures::TESTS,
    lock_waits::TESTS,
    policy::TESTS,
    gomaxprocs::TESTS,
    handoff::TESTS,
    idle::TESTS,
    ipi::TESTS,
    locked::TESTS,
    locked_p::TESTS,
    netpoll::TESTS,
    pairs::TESTS,
    preempt::TESTS,
    queues::TESTS,
    reach::TESTS,
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

/// How a test says what it found.
#[derive(Clone, Copy)]
enum Run {
    /// By its answer.
    Answers(fn() -> Outcome),
    /// By a panic.
    Panics(fn()),
}

impl Run {
    fn run(self) -> Outcome {
        match self {
            Run::Answers(f) => f(),
            Run::Panics(f) => {
                f();
                Ok(())
            }
        }
    }
}

fn tests() -> impl Iterator<Item = (&'static str, Run)> {
    let own = AREAS.iter().chain(BARE).copied().flatten();
    let own = own.map(|&(name, f)| (name, Run::Answers(f)));
    own.chain(shared::tests().map(|(name, f)| (name, Run::Panics(f))))
}

/// The tests that `names` asks for.
fn chosen(names: &str) -> Result<Vec<(&'static str, Run)>, String> {
    let mut chosen = Vec::new();
    for name in names.split(',') {
        let before = chosen.len();
        chosen.extend(tests().filter(|(n, _)| match name.strip_suffix('*') {
            Some(head) => n.starts_with(head),
            None => *n == name,
        }));
        if chosen.len() == before {
            return Err(format!(
                "there is no test {name}; the argument `list` names all"
            ));
        }
    }
    Ok(chosen)
}

fn main() -> Outcome {
    let mut words = args();
    let names = words.next().unwrap_or_default();
    param::set(words);
    if names == "list" {
        tests().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    }
    let chosen = chosen(&names)?;
    if let [(_, test)] = chosen[..] {
        return test.run();
    }
    for (name, test) in chosen {
        println!("- {name}");
        test.run().map_err(|why| format!("{name}: {why}"))?
    }
    Ok(())
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
