//! What a switch costs where nothing else happens: goroutines that only yield. Main waits, parked.

use crate::{Params, Sample};
use ringo::prelude::*;

/// Two goroutines, 500,000 yields each.
pub fn yield2(p: &Params) -> Sample {
    yields(2, p.scaled(500_000))
}

/// 1,000 goroutines, 1,000 yields each.
pub fn yield1000(p: &Params) -> Sample {
    yields(1000, p.scaled(1000))
}

fn yields(tasks: u64, each: u64) -> Sample {
    let wg = WaitGroup::new();
    wg.add(tasks as i64);
    let begin = Instant::now();
    for _ in 0..tasks {
        let wg = wg.clone();
        go(move || {
            for _ in 0..each {
                yield_now()
            }
            wg.done()
        });
    }
    wg.wait();
    Sample::timed(begin.elapsed(), tasks * each)
        .param("tasks", tasks)
        .param("yields_each", each)
}
