//! Tests that run here on threads of the host, and in the image of the QEMU tests as well: `both/` knows of neither.

extern crate alloc;

use base::config::{Clock, Config};

#[path = "both/bubbles.rs"]
mod bubbles;
#[path = "both/contexts.rs"]
mod contexts;
#[path = "both/timers.rs"]
mod timers;

/// Each in a scheduler of its own.
fn run_all(clock: Clock, tests: &[(&str, fn())]) {
    for &(name, test) in tests {
        println!("{name}");
        let cfg = Config {
            procs: Some(2),
            clock,
            ..Config::DEFAULT
        };
        sched::testing::run_with(cfg, 2, test)
    }
}

#[test]
fn contexts() {
    run_all(Clock::Real, contexts::TESTS)
}

#[test]
fn bubbles() {
    run_all(Clock::Real, bubbles::TESTS)
}

/// With a clock that jumps: they sleep for longer than others and see what has become of them, which on a busy host is chance.
#[test]
fn timers() {
    run_all(Clock::Virtual, timers::TESTS)
}
