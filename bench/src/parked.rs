//! What a goroutine costs that waits: to start it, in memory, and to wake and end it.

use crate::{Params, Sample};
use ringo::machine;
use ringo::prelude::*;

/// 100,000 of them.
pub fn hundred_thousand(p: &Params) -> Sample {
    parked(p.scaled(100_000))
}

/// Bytes to reckon with for each: a page of stack, and its share of page tables and of the heap.
const BYTES: u64 = 4608;

/// A million, or as many as seven eighths of the free memory hold: 370,000 with 2 GiB, a million with 6.
pub fn as_many_as_fit(p: &Params) -> Sample {
    let fit = machine::free_bytes().map_or(u64::MAX, |bytes| bytes / 8 * 7 / BYTES);
    parked(p.scaled(1_000_000).min(fit.max(1)))
}

/// All wait for one channel that nothing is sent on until it is closed.
fn parked(n: u64) -> Sample {
    let before = machine::used_bytes();
    let (stop, stopped) = chan::<()>(0);
    let (started, wg) = (WaitGroup::new(), WaitGroup::new());
    started.add(n as i64);
    wg.add(n as i64);
    let begin = Instant::now();
    for _ in 0..n {
        let (stopped, started, wg) = (stopped.clone(), started.clone(), wg.clone());
        go(move || {
            started.done();
            stopped.recv();
            wg.done()
        });
    }
    started.wait();
    let create = begin.elapsed();
    let after = machine::used_bytes();
    let begin = Instant::now();
    stop.close();
    wg.wait();
    let wake_exit = begin.elapsed();
    let sample = Sample::timed(create, n)
        .param("tasks", n)
        .extra("create_ms", create.as_secs_f64() * 1e3)
        .extra("wake_exit_ms", wake_exit.as_secs_f64() * 1e3)
        .extra(
            "wake_exit_ns_per_task",
            wake_exit.as_nanos() as f64 / n as f64,
        );
    match before.zip(after) {
        Some((before, after)) => sample
            .extra(
                "bytes_per_task",
                after.saturating_sub(before) as f64 / n as f64,
            )
            .extra("used_after_mb", (after >> 20) as f64),
        None => sample,
    }
}
