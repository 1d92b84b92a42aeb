//! Programs that only compute, beside sleepers of ring 0 and of ring 3: these are on time.
//!
//! Lateness is judged in virtual time only (`--seed`); elsewhere it is printed, and what is counted is judged.

use super::start;
use crate::late::{at, lateness_us};
use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ringo::machine::{counts, preempts, slice, wakes_preempt};
use ringo::prelude::*;
use ringo::user::Process;

/// The tests of this file.
pub const TESTS: &[Test] = &[("ring3_pace", ring3_pace)];

/// Four that compute, until they are ended; where nobody can end them, for `hog_ms`.
fn burners() -> Result<Vec<Process>, String> {
    let ms = param("hog_ms", 0);
    let one = |_| match ms {
        0 => start("burn", &["100000"]),
        ms => start("late", &["hog", &format!("{ms}")]),
    };
    (0..4).map(one).collect()
}

/// A sleeper of ring 0 and one of ring 3 beside `burn` × 4. The median is what counts; where nobody takes the CPU from those that
/// compute, they begin after the sleepers, and each of these finds all CPUs taken once, for long.
fn ring3_pace() -> Outcome {
    let ticks = param("ticks", 50);
    let strict = ringo::start::config().seed.is_some();
    let gives_way = preempts() && wakes_preempt();
    let percent = if preempts() { 50 } else { 100 };
    let mut burning = Vec::new();
    if preempts() {
        burning = burners()?;
        sleep(Duration::from_millis(30)); // they look at the clock for 20
    }
    let theirs = start(
        "late",
        &["sleep", &format!("{ticks}"), &format!("{percent}")],
    )?;
    let ours = spawn(move || at(&lateness_us(ticks, Duration::from_millis(1)), percent));
    if !preempts() {
        sleep(Duration::from_millis(5));
        burning = burners()?;
    }
    let (ours, theirs) = (ours.join(), theirs.wait().code() as u64 * 10);
    for burner in burning {
        burner.kill();
        burner.wait();
    }
    figure!("ring0_late_us", ours);
    figure!("ring3_late_us", theirs);
    figure!("gave_way", counts().gave_way);
    if gives_way {
        ensure!(counts().gave_way > 0, "nobody gave way");
    }
    if !strict {
        return Ok(());
    }
    let slice = slice().as_micros() as u64;
    for (whose, late) in [("ring 0", ours), ("ring 3", theirs)] {
        let wrong = match gives_way {
            true => late >= slice / 10,
            false => late <= slice / 2,
        };
        ensure!(!wrong, "a sleeper of {whose} was late by {late} us");
    }
    Ok(())
}
