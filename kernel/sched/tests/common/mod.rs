//! What the tests on threads of the host machine share.

use sched::{newproc, yield_now};
use std::panic::Location;

/// Starts a goroutine.
pub fn go(f: impl FnOnce() + Send + 'static) {
    newproc(f, Location::caller());
}

/// Gives way until `done`.
pub fn until(done: impl Fn() -> bool) {
    while !done() {
        yield_now()
    }
}

/// CPUs and Ps of the machines.
pub const SHAPES: [(usize, usize); 4] = [(1, 1), (2, 1), (2, 2), (4, 4)];
