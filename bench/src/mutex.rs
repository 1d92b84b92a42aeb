//! What a lock costs that waits by parking.

use crate::{Params, Sample};
use ringo::prelude::*;

/// One goroutine, 800,000 times lock, add 1, unlock.
pub fn uncontended(p: &Params) -> Sample {
    let n = p.scaled(800_000);
    let count = Mutex::new(0);
    let begin = Instant::now();
    for _ in 0..n {
        *count.lock() += 1
    }
    let elapsed = begin.elapsed();
    assert_eq!(*count.lock(), n);
    Sample::timed(elapsed, n).param("iters", n)
}

/// Eight goroutines, 100,000 times each.
pub fn eight(p: &Params) -> Sample {
    let n = p.scaled(800_000);
    let each = (n / 8).max(1);
    let (count, wg) = (Arc::new(Mutex::new(0)), WaitGroup::new());
    wg.add(8);
    let begin = Instant::now();
    for _ in 0..8 {
        let (count, wg) = (count.clone(), wg.clone());
        go(move || {
            for _ in 0..each {
                *count.lock() += 1
            }
            wg.done()
        });
    }
    wg.wait();
    let elapsed = begin.elapsed();
    assert_eq!(*count.lock(), 8 * each, "the lock did not exclude");
    Sample::timed(elapsed, 8 * each)
        .param("tasks", 8)
        .param("ops", n)
}
