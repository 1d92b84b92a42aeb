//! Programs that burden the machine with something besides switches: allocation, the disk, large frames. Go: proc_test.go.

use crate::param::param;
use crate::preempt::poke_one;
use crate::wait::{bump, chance, hold_until, spin, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("burden_heap", burden_heap),
    ("burden_disk", burden_disk),
    ("burden_frames", burden_frames),
    ("burden_long_sleep", burden_long_sleep),
];

/// Go: GCFairness2. Gs that do nothing but allocate, on every P; a sleeper wakes nevertheless, and the world stops.
fn burden_heap() -> Outcome {
    static BYTES: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    let gs: Vec<_> = (0..2 * sched::gomaxprocs() as u64)
        .map(|i| {
            spawn(move || {
                let mut rng = chance(i);
                let mut held: Vec<Vec<u8>> = Vec::new();
                while !STOP.load(Relaxed) {
                    let bytes = 1 + rng.below(6000) as usize;
                    held.push(vec![i as u8; bytes]);
                    if held.len() > 40 {
                        let old = held.swap_remove(rng.below(40) as usize);
                        assert!(old.iter().all(|b| *b == i as u8), "an object was damaged");
                    }
                    BYTES.fetch_add(bytes as u64, Relaxed);
                }
            })
        })
        .collect();
    for _ in 0..param("sleeps", 10) {
        sleep(Duration::from_millis(1));
        crate::stw::stop_once()
    }
    STOP.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    figure!("kib", BYTES.load(Relaxed) >> 10);
    Ok(())
}

/// Go: GCFairness, with the disk for the file. Gs that do nothing but write to the device; a sleeper wakes nevertheless, and
/// the world stops.
fn burden_disk() -> Outcome {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    let gs: Vec<_> = (0..2 * sched::gomaxprocs() as u64)
        .map(|i| {
            spawn(move || {
                let data = [i as u8; ringo::disk::SECTOR_BYTES];
                while !STOP.load(Relaxed) {
                    ringo::disk::write(i, &data).map_err(|e| format!("{e}"))?;
                    bump(&WRITES);
                }
                Ok::<(), String>(())
            })
        })
        .collect();
    for _ in 0..param("sleeps", 10) {
        sleep(Duration::from_millis(1));
        crate::stw::stop_once()
    }
    STOP.store(true, Relaxed);
    for g in gs {
        g.join()?
    }
    figure!("writes", WRITES.load(Relaxed));
    ensure!(WRITES.load(Relaxed) > 0, "nothing was written");
    Ok(())
}

/// A frame of 32 KiB, over and over down to `left` more; each still holds what was written to it when the one below is left.
#[inline(never)]
fn large_frame(left: u64, seed: u64) -> bool {
    let mut frame = [seed ^ left; 4096];
    core::hint::black_box(&mut frame);
    spin(300);
    let below = left == 0 || large_frame(left - 1, seed);
    core::hint::black_box(&mut frame);
    below && frame.iter().all(|w| *w == seed ^ left)
}

/// Go: PreemptSplitBig. Functions with large frames, down to near the guard page, lose their CPU at any instruction while
/// others stop the world.
fn burden_frames() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    let stack_bytes = u64::from(ringo::start::config().stack_kib) << 10;
    // 32 KiB each; what is left is less than one more.
    let depth = stack_bytes / (33 << 10) - 1;
    let gs: Vec<_> = (0..sched::gomaxprocs() as u64 + 1)
        .map(|i| {
            spawn(move || {
                while !STOP.load(Relaxed) {
                    assert!(large_frame(depth - 1, i), "a frame was damaged");
                    bump(&ROUNDS);
                }
            })
        })
        .collect();
    let (rounds, enough) = (param("rounds", 60), param("stops", 40));
    let mut stops = 0;
    while ROUNDS.load(Relaxed) < rounds || stops < enough {
        crate::stw::stop_once();
        stops += 1;
        yield_now()
    }
    STOP.store(true, Relaxed);
    gs.into_iter().for_each(|g| g.join());
    figure!("rounds", ROUNDS.load(Relaxed));
    figure!("stops", stops);
    Ok(())
}

/// Go: NetpollBreak. The idle CPU waits for a timer that is ten seconds away; work cuts that short, and so does an earlier
/// timer. Interrupts for nothing do no harm.
fn burden_long_sleep() -> Outcome {
    const LONG: Duration = Duration::from_secs(10);
    static RAN: AtomicU64 = AtomicU64::new(0);
    let begin = Instant::now();
    for _ in 0..2 {
        go(|| {
            sleep(LONG);
            panic!("a sleep of {LONG:?} is over")
        });
    }
    // Both wait, and their CPU keeps the time.
    sleep(Duration::from_millis(5));
    let mut rng = chance(3);
    for n in 1..=param("rounds", 50) {
        (0..4).for_each(|_| poke_one(&mut rng));
        go(|| _ = bump(&RAN));
        hold_until(|| RAN.load(Acquire) == n);
        spin(rng.below(60_000));
        if n % 4 == 0 {
            sleep(Duration::from_micros(200))
        }
    }
    until(|| num_goroutine() == 3);
    let took = begin.elapsed();
    figure!("ms", took.as_millis());
    ensure!(
        took < LONG / 2,
        "work waited for the timer: {took:?} of {LONG:?}"
    );
    Ok(())
}
