//! The whole scheduler under shuttle: random programs on machines of one to four CPUs, thousands of interleavings of each
//! kind, from the kernel's own source. Built with `RUSTFLAGS="--cfg ringo_shuttle"` only; `cargo test -p tests --test models` builds
//! and runs it, with and without planted bugs, and says how a failure is run again.
//!
//! Every atomic operation is one that shuttle may interrupt; each counts as SeqCst, so orderings and fences are what loom
//! checks (`tests/loom/`), and this what needs more Ms, Gs and steps than loom can explore.
#![cfg(ringo_shuttle)]

#[path = "shuttle/machine.rs"]
mod machine;
#[path = "shuttle/program.rs"]
mod program;
#[path = "shuttle/runs.rs"]
mod runs;

use program::Without;
use runs::explore;

/// Everything at once.
#[test]
fn everything() {
    explore(Without::default(), 500)
}

/// No stops of the world, no locking: queues, stealing, parking, timers, calls.
#[test]
fn findrunnable() {
    let without = Without {
        stops: true,
        looks: true,
        locks: true,
        ..Without::default()
    };
    explore(without, 500)
}

/// Nothing but Gs that are made, parked, readied, and such as keep their CPU until another has run: nobody is preempted, no
/// sysmon looks, no timer wakes. What is lost then stays lost.
#[test]
fn wake_ups_alone() {
    explore(Without::ALL, 500)
}

/// The same with sleepers.
#[test]
fn timers_alone() {
    let without = Without {
        timers: false,
        ..Without::ALL
    };
    explore(without, 200)
}

/// Looks that are given up, since nobody interrupts those that keep their CPU.
#[test]
fn looks_alone() {
    let without = Without {
        calls: false,
        looks: false,
        ..Without::ALL
    };
    explore(without, 100)
}
