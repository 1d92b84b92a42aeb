//! How late those wake who sleep.

use crate::{Params, Sample};
use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use ringo::prelude::*;

/// One goroutine sleeps 1 ms, 200 times, and nobody else runs.
pub fn alone(p: &Params) -> Sample {
    beside(p, 0)
}

/// The same beside as many loops that never give way as there are Ps.
pub fn beside_one_each(p: &Params) -> Sample {
    beside(p, p.procs as u64)
}

/// The same beside four such loops for each P.
pub fn beside_four_each(p: &Params) -> Sample {
    beside(p, 4 * p.procs as u64)
}

fn late_ns(begin: Instant, asked: Duration) -> u64 {
    begin.elapsed().saturating_sub(asked).as_nanos() as u64
}

fn beside(p: &Params, spinners: u64) -> Sample {
    let iters = p.scaled(200);
    let (stop, wg) = (Arc::new(AtomicBool::new(false)), WaitGroup::new());
    wg.add(spinners as i64);
    for _ in 0..spinners {
        let (stop, wg) = (stop.clone(), wg.clone());
        go(move || {
            let mut x = 1u64;
            // Relaxed: a wish, of which nothing else follows.
            while !stop.load(Relaxed) {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1)
            }
            black_box(x);
            wg.done()
        });
    }
    let sleeper = spawn(move || {
        let asked = Duration::from_millis(1);
        sleep(Duration::from_millis(5));
        let one = |_| {
            let begin = Instant::now();
            sleep(asked);
            late_ns(begin, asked)
        };
        (0..iters).map(one).collect()
    });
    let sample = Sample::late(sleeper.join());
    stop.store(true, Relaxed);
    wg.wait();
    sample
        .param("spinners", spinners)
        .param("sleep_us", 1000)
        .param("iters", iters)
}

/// 10,000 goroutines sleep 10 to 110 ms, five times each.
pub fn sleepers(p: &Params) -> Sample {
    let (n, rounds) = (p.scaled(10_000), 5);
    let late: Arc<Vec<AtomicU64>> = Arc::new((0..n * rounds).map(|_| AtomicU64::new(0)).collect());
    let wg = WaitGroup::new();
    wg.add(n as i64);
    let begin = Instant::now();
    for id in 0..n {
        let (late, wg) = (late.clone(), wg.clone());
        go(move || {
            let mut x = id.wrapping_mul(2654435761).wrapping_add(12345);
            for round in 0..rounds {
                x = x
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                let asked = Duration::from_micros(10_000 + (x >> 33) % 100_000);
                let begin = Instant::now();
                sleep(asked);
                // Relaxed: read after the wait group says that all are done.
                late[(id * rounds + round) as usize].store(late_ns(begin, asked), Relaxed)
            }
            wg.done()
        });
    }
    wg.wait();
    let wall = begin.elapsed();
    Sample::late(late.iter().map(|ns| ns.load(Relaxed)).collect())
        .param("sleepers", n)
        .param("rounds", rounds)
        .word("sleep_ms", "10..110")
        .extra("wall_ms", wall.as_secs_f64() * 1000.0)
}
