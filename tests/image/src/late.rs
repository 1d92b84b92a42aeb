//! How late sleepers are.

use alloc::vec::Vec;
use ringo::prelude::*;

/// How late each of `n` sleeps ended, in microseconds, sorted.
pub fn lateness_us(n: u64, each: Duration) -> Vec<u64> {
    let mut late: Vec<u64> = (0..n)
        .map(|_| {
            let due = Instant::now() + each;
            sleep(each);
            (Instant::now() - due).as_micros() as u64
        })
        .collect();
    late.sort_unstable();
    late
}

/// That percentile of what is sorted.
pub fn at(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() - 1) * percent / 100]
}
