//! What starting a goroutine costs.

use crate::{Params, Sample};
use ringo::prelude::*;

/// 100,000 goroutines behind one wait group, all started before the first is waited for.
pub fn batch(p: &Params) -> Sample {
    let n = p.scaled(100_000);
    let wg = WaitGroup::new();
    wg.add(n as i64);
    let begin = Instant::now();
    for _ in 0..n {
        let wg = wg.clone();
        go(move || wg.done());
    }
    wg.wait();
    Sample::timed(begin.elapsed(), n).param("batch", n)
}

/// 100,000 times one goroutine that is waited for.
pub fn one(p: &Params) -> Sample {
    let n = p.scaled(100_000);
    let wg = WaitGroup::new();
    let begin = Instant::now();
    for _ in 0..n {
        wg.add(1);
        let theirs = wg.clone();
        go(move || theirs.done());
        wg.wait();
    }
    Sample::timed(begin.elapsed(), n).param("iters", n)
}
