//! Work that is all started on one P: the others must come and take it.

use crate::calib::spin;
use crate::{Params, Sample};
use core::hint::black_box;
use ringo::prelude::*;

/// 20,000 pieces of some microseconds.
pub fn fine(p: &Params) -> Sample {
    skew(p, 20_000, 1000)
}

/// 2,000 pieces of a tenth of a millisecond.
pub fn mid(p: &Params) -> Sample {
    skew(p, 2000, 20_000)
}

/// 64 pieces of some milliseconds.
pub fn coarse(p: &Params) -> Sample {
    skew(p, 64, 1_000_000)
}

/// Beside the time: that of the same work without goroutines, one piece after the other, and how much of the CPUs' time was work.
fn skew(p: &Params, tasks: u64, steps: u64) -> Sample {
    let tasks = p.scaled(tasks);
    let begin = Instant::now();
    for _ in 0..tasks {
        black_box(spin(black_box(steps)));
    }
    let serial_ns = begin.elapsed().as_nanos() as f64;
    let wg = WaitGroup::new();
    wg.add(tasks as i64);
    let begin = Instant::now();
    for _ in 0..tasks {
        let wg = wg.clone();
        go(move || {
            black_box(spin(black_box(steps)));
            wg.done()
        });
    }
    wg.wait();
    let elapsed = begin.elapsed();
    let ideal_ns = serial_ns / p.procs as f64;
    Sample::timed(elapsed, tasks)
        .param("tasks", tasks)
        .param("spin", steps)
        .extra("ideal_ns", ideal_ns)
        .extra("efficiency", ideal_ns / elapsed.as_nanos() as f64)
        .extra("serial_ns_per_task", serial_ns / tasks as f64)
}
