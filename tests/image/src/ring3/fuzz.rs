//! Random system calls: nothing that ring 3 asks for hurts the kernel, and nothing is left of it.

use super::{comes_back, run};
use crate::param::param;
use crate::wait::{bump, until};
use crate::{Outcome, Test, ensure};
use alloc::string::ToString;
use core::sync::atomic::AtomicU64;
use ringo::prelude::*;
use ringo::user;

/// The tests of this file.
pub const TESTS: &[Test] = &[("ring3_fuzz", ring3_fuzz)];

fn ring3_fuzz() -> Outcome {
    comes_back(300, fuzz)?;
    let open = sched::this().connections().open;
    ensure!(open == 0, "{open} connections are left");
    let leaks = ringo::leaks();
    ensure!(leaks.0.certain.is_empty(), "{leaks}");
    run("hello", &["still", "here"])
}

/// Half of the calls.
fn fuzz() -> Outcome {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let (calls, seed) = (param("calls", 10_000) / 2, param("fuzz", 1) + bump(&SEED));
    let outcome = run("fuzz", &[&calls.to_string(), &seed.to_string()]);
    gomaxprocs(num_cpu());
    // Children that the random calls have started end by themselves.
    until(|| user::processes().is_empty());
    outcome
}
