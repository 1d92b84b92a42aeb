//! Fork and join: a tree of goroutines, each of which waits for one that it has started.

use crate::{Params, Sample};
use core::hint::black_box;
use ringo::prelude::*;

/// fib(27) by calls alone.
pub fn serial27(p: &Params) -> Sample {
    serial(depth(p, 27))
}

/// fib(35) by calls alone.
pub fn serial35(p: &Params) -> Sample {
    serial(depth(p, 35))
}

/// 196,417 goroutines that do next to nothing.
pub fn fib27c2(p: &Params) -> Sample {
    tree(p, depth(p, 27), 2)
}

/// 4,180 goroutines of some microseconds.
pub fn fib27c10(p: &Params) -> Sample {
    tree(p, depth(p, 27), 10)
}

/// 4,180 goroutines of some hundred microseconds.
pub fn fib35c18(p: &Params) -> Sample {
    tree(p, depth(p, 35), 18)
}

/// Each level less makes the tree smaller by 1.6.
fn depth(p: &Params, n: u64) -> u64 {
    if p.is_scaled_down() { n - 4 } else { n }
}

fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

fn fib_par(n: u64, cutoff: u64) -> u64 {
    if n <= cutoff {
        return fib(n);
    }
    let x = spawn(move || fib_par(n - 1, cutoff));
    let y = fib_par(n - 2, cutoff);
    x.join() + y
}

fn spawns(n: u64, cutoff: u64) -> u64 {
    if n <= cutoff {
        return 0;
    }
    1 + spawns(n - 1, cutoff) + spawns(n - 2, cutoff)
}

fn serial(n: u64) -> Sample {
    let begin = Instant::now();
    black_box(fib(black_box(n)));
    Sample::timed(begin.elapsed(), 1).param("n", n)
}

/// Beside the time of the tree: what the same calls take without goroutines, and what each of these adds to its share.
fn tree(p: &Params, n: u64, cutoff: u64) -> Sample {
    let begin = Instant::now();
    let wanted = fib(black_box(n));
    let serial_ns = begin.elapsed().as_nanos() as f64;
    let spawns = spawns(n, cutoff);
    let begin = Instant::now();
    let got = fib_par(n, cutoff);
    let elapsed = begin.elapsed();
    assert_eq!(got, wanted, "fib({n})");
    let on_all_ns = elapsed.as_nanos() as f64 * p.procs as f64;
    Sample::timed(elapsed, 1)
        .param("n", n)
        .param("cutoff", cutoff)
        .param("spawns", spawns)
        .word("op", "whole tree")
        .extra("serial_ns", serial_ns)
        .extra("ideal_ns", serial_ns / p.procs as f64)
        .extra("overhead_ns", (on_all_ns - serial_ns) / spawns as f64)
}
