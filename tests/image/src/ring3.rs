//! Processes of ring 3: that nobody is hurt by what one of them does, and that all comes back when it ends.
//!
//! What only ring 3 can try is done by the programs of `tests/ring3`; the tests here start them, and look at the machine.

mod crashes;
mod fuzz;
mod kill;
mod limits;
mod many;
mod pace;

use crate::ring3_memory::used_frames;
use crate::wait::until;
use crate::{Outcome, Test, ensure, figure};
use alloc::string::String;
use ringo::prelude::*;
use ringo::user::{self, Info, Process, Stdio};

/// The tests of these files.
pub const TESTS: &[&[Test]] = &[
    crashes::TESTS,
    fuzz::TESTS,
    kill::TESTS,
    limits::TESTS,
    many::TESTS,
    pace::TESTS,
];

/// Starts a program that gets no input.
fn start(name: &str, args: &[&str]) -> Result<Process, String> {
    start_with(name, args, Stdio::without_input())
}

fn start_with(name: &str, args: &[&str], stdio: Stdio) -> Result<Process, String> {
    user::spawn(name, args, stdio).map_err(|why| format!("{name}: {why}"))
}

/// Runs a program that has to end with exit code 0.
fn run(name: &str, args: &[&str]) -> Outcome {
    let ended = start(name, args)?.wait();
    ensure!(ended.code() == 0, "{name} {args:?}: {ended}");
    Ok(())
}

/// Times more, if what is in use grows.
const ROUNDS: u32 = 4;

/// Does something twice. What the first time leaves is kept at hand, as stacks and objects of the kernel are; after the second time all
/// processes have ended, their goroutines as well, and `spare` page frames more are in use at most.
fn comes_back(spare: u64, work: impl Fn() -> Outcome) -> Outcome {
    let goroutines = num_goroutine();
    let round = || {
        work()?;
        let left = user::processes();
        ensure!(left.is_empty(), "processes are left: {}", Names(&left));
        // Who waits for a process knows of its end a moment before its last goroutine has ended.
        until(|| num_goroutine() <= goroutines);
        Ok(used_frames())
    };
    let mut most = round()?;
    // Where chance decides what is done, one time may need more at hand than the one before; a leak grows each time.
    for _ in 0..ROUNDS {
        let now = round()?;
        figure!("frames_kept", now as i64 - most as i64);
        if now <= most + spare {
            return Ok(());
        }
        most = now
    }
    Err(alloc::format!(
        "{most} frames are in use, and {spare} more at least each time"
    ))
}

/// Processes, for a report.
struct Names<'a>(&'a [Info]);

impl core::fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|process| {
            write!(f, "{} ({}, ", process.id, process.name)?;
            let threads = process.threads.iter();
            threads
                .into_iter()
                .try_for_each(|t| write!(f, "[{:?} {}]", t.g.status, t.g.wait))?;
            f.write_str(") ")
        })
    }
}
