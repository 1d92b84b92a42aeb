//! Each way to die ends the process that goes it, and nobody else.

use super::{Names, run};
use crate::wait::{bump, until};
use crate::{Outcome, Test, ensure};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use ringo::prelude::*;
use ringo::user;

/// The tests of this file.
pub const TESTS: &[Test] = &[("ring3_crashes", ring3_crashes)];

/// All ways, beside a neighbour in ring 3 (which `crashes` looks after) and a goroutine of the kernel. How each ended is said by the
/// program, why by the kernel; the harness has the list.
fn ring3_crashes() -> Outcome {
    static TURNS: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    let beside = spawn(|| {
        while !STOP.load(Relaxed) {
            bump(&TURNS);
            sleep(Duration::from_micros(300))
        }
    });
    run("crashes", &[])?;
    let turns = TURNS.load(Relaxed);
    until(|| TURNS.load(Relaxed) > turns);
    STOP.store(true, Relaxed);
    beside.join();
    let left = user::processes();
    ensure!(left.is_empty(), "processes are left: {}", Names(&left));
    Ok(())
}
