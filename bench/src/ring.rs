//! A token that goes round a ring of goroutines.

use crate::{Params, Sample};
use ringo::prelude::*;

/// Goroutines in the ring.
const RING: usize = 503;

/// 500,000 hops over channels without room.
pub fn hops(p: &Params) -> Sample {
    let n = p.scaled(500_000);
    let (to, from): (Vec<Sender<u64>>, Vec<Receiver<u64>>) = (0..RING).map(|_| chan(0)).unzip();
    let (last, ended) = chan::<usize>(1);
    let wg = WaitGroup::new();
    wg.add(RING as i64);
    for (i, from) in from.into_iter().enumerate() {
        let (next, last, wg) = (to[(i + 1) % RING].clone(), last.clone(), wg.clone());
        go(move || {
            for token in &from {
                if token == 0 {
                    last.send(i).expect("main waits for it")
                } else {
                    next.send(token - 1)
                        .expect("the next one is there to the end")
                }
            }
            wg.done()
        });
    }
    let begin = Instant::now();
    to[0].send(n).expect("the first one waits for it");
    let at = ended.recv();
    let elapsed = begin.elapsed();
    assert_eq!(at, Some(n as usize % RING), "the token ended elsewhere");
    to.iter().for_each(|tx| _ = tx.close());
    wg.wait();
    Sample::timed(elapsed, n)
        .param("tasks", RING as u64)
        .param("hops", n)
}
