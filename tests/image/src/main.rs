//! Every test that needs a machine, as a function of one kernel image. A boot runs one, or some in turn: its first argument is
//! the name, or several with commas between them, of which one that ends in `*` stands for all that begin so; further ones are
//! `key=number`, and so may stand behind a name (see [`param`]). `list` prints all names.
//!
//! A test ends with status 0, or with 1 and what it found; those that end the machine by force do that. A test that
//! hangs has failed as well: the harness has the clock, this side counts.
#![no_std]
#![no_main]

extern crate alloc;

mod param;
mod run;
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
mod late;
#[cfg(ringo_kernel)]
mod leaks;
#[cfg(ringo_kernel)]
mod loads;
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
mod panic_rules;
#[cfg(ringo_kernel)]
mod pci;
mod policy;
mod preempt;
mod queues;
mod reach;
#[cfg(ringo_kernel)]
mod regs;
#[cfg(ringo_kernel)]
mod ring3;
#[cfg(ringo_kernel)]
mod ring3_bare;
#[cfg(ringo_kernel)]
mod ring3_figures;
#[cfg(ringo_kernel)]
mod ring3_memory;
#[cfg(ringo_kernel)]
mod ring3_net;
mod rwmutex;
mod sched_fair;
mod sched_life;
mod selects;
mod shared;
mod soak;
mod sockets;
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

use run::{Outcome, Run, Test};
ringo::main!(main);

#[cfg(ringo_kernel)]
const BARE: &[&[Test]] = &[
    exceptions::TESTS,
    goker::TESTS,
    leaks::TESTS,
    loads::TESTS,
    memory::TESTS,
    net::TESTS,
    net_echo::TESTS,
    net_knock::TESTS,
    net_stack::TESTS,
    pci::TESTS,
    regs::TESTS,
    ring3_figures::TESTS,
    ring3_memory::TESTS,
    ring3_net::TESTS,
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
    panic_rules::TESTS,
    preempt::TESTS,
    queues::TESTS,
    reach::TESTS,
    rwmutex::TESTS,
    sched_fair::TESTS,
    sched_life::TESTS,
    soak::TESTS,
    sockets::TESTS,
    stress::TESTS,
    stw::TESTS,
    timers::TESTS,
    wake::TESTS,
    wakeup::TESTS,
];

fn tests() -> impl Iterator<Item = (&'static str, Run)> {
    let own = AREAS.iter().chain(BARE).copied().flatten();
    #[cfg(ringo_kernel)]
    let own = own.chain(
        ring3_bare::TESTS
            .iter()
            .chain(ring3::TESTS)
            .copied()
            .flatten(),
    );
    let own = own.map(|&(name, f)| (name, Run::Answers(f)));
    own.chain(shared::tests().map(|(name, f)| (name, Run::Panics(f))))
}

fn main() -> Outcome {
    run::run(tests)
}
