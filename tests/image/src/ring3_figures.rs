//! What ring 3 costs: the start of a process, calls and page faults, and a P that goes on while a program is in a blocking read.

use crate::param::param;
use crate::ring3_memory::succeeds;
use crate::wait::spin;
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering::*};
use ringo::prelude::*;
use ringo::user::{Stdio, spawn as start};

pub const TESTS: &[Test] = &[
    ("ring3_figures_start", starts),
    ("ring3_figures_costs", costs),
    ("ring3_figures_handoff", handoff),
];

/// Bits of the time that fit into an exit code.
const LOW: u64 = i32::MAX as u64;

/// From the call that starts a process to the time that the process asks for first. It lies within what the caller sees of it.
fn starts() -> Outcome {
    let mut times: Vec<u64> = Vec::new();
    for _ in 0..param("starts", 60) {
        let begin = sched::machine_now_ns();
        let process = start("first", &[""; 0], Stdio::without_input());
        let process = process.map_err(|e| format!("{e}"))?;
        let ended = process.wait();
        let all = sched::machine_now_ns() - begin;
        // `Display` of an exit says its code, `code` of another end is one that no time of day is likely to be.
        let first = u64::try_from(ended.code()).unwrap_or(u64::MAX);
        let took = first.wrapping_sub(begin) & LOW;
        ensure!(
            took < all,
            "it began {took} ns after its start, and had ended after {all}: {ended}"
        );
        times.push(took)
    }
    times.sort_unstable();
    figure!("start_least_us", times[0] / 1000);
    figure!("start_median_us", times[times.len() / 2] / 1000);
    figure!("start_most_us", times[times.len() - 1] / 1000);
    Ok(())
}

/// The program judges by what it measures in the same moment.
fn costs() -> Outcome {
    succeeds("costs", &[])
}

/// One P, more CPUs: while a program of ring 3 reads the disk the P runs somebody else, and how soon the events say.
fn handoff() -> Outcome {
    ensure!(
        sched::gomaxprocs() == 1 && num_cpu() > 1,
        "this is for one P on several CPUs"
    );
    let reads = param("reads", 60);
    let work = Arc::new(AtomicU64::new(0));
    let theirs = work.clone();
    // There is always somebody who could run.
    go(move || {
        loop {
            theirs.fetch_add(1, Relaxed);
            spin(20_000); // not so many events that the runner misses some
            yield_now()
        }
    });
    succeeds("reader", &[&format!("{reads}")])?;
    figure!("reads", reads);
    ensure!(work.load(Relaxed) > reads, "nobody ran meanwhile");
    Ok(())
}
