//! Memory that comes back: heap, page frames, stacks of goroutines that ended.

use crate::param::param;
use crate::wait::{bump, chance};
use crate::{Outcome, Test, ensure, figure};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::black_box;
use core::sync::atomic::{AtomicU64, Ordering::*};
use mem::PAGE_BYTES;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("memory_heap", memory_heap),
    ("memory_large", memory_large),
    ("memory_cross", memory_cross),
    ("memory_peaks", memory_peaks),
    ("memory_stale", memory_stale),
];

/// Those on their way back are not in use.
fn used_frames() -> u64 {
    mem::frames::total_frames() - mem::frames::free_frames() - mem::flush::held_frames()
}

/// Objects of all sizes come and go; each keeps what was written to it, and at the end their pages are free again.
fn memory_heap() -> Outcome {
    static BAD: AtomicU64 = AtomicU64::new(0);
    let rounds = param("rounds", 3);
    let mut used = Vec::new();
    for round in 0..rounds {
        let wg = WaitGroup::new();
        for i in 0..4 * num_cpu() as u64 {
            wg.go(move || {
                let mut rng = chance(round << 8 | i);
                let mut held: Vec<Vec<u8>> = Vec::new();
                for step in 0..4000u32 {
                    if held.len() > 300 || (step > 3000 && !held.is_empty()) {
                        let old = held.swap_remove(rng.below(held.len() as u32) as usize);
                        if old.iter().any(|&b| b != old.len() as u8) {
                            bump(&BAD);
                        }
                    } else {
                        let most = 1 << rng.below(14);
                        let bytes = 1 + rng.below(most) as usize;
                        held.push(vec![bytes as u8; bytes]);
                    }
                }
            });
        }
        wg.wait();
        used.push(used_frames());
    }
    ensure!(
        BAD.load(Relaxed) == 0,
        "{} objects lost what was in them",
        BAD.load(Relaxed)
    );
    // 64 KiB for each class and CPU may stay at hand, and a grown stack for each G that ended.
    let (first, last) = (used[0], used[used.len() - 1]);
    figure!("frames_first", first);
    figure!("frames_last", last);
    ensure!(
        last <= first + first / 10 + 64,
        "frames in use after each round: {used:?}"
    );
    Ok(())
}

/// Objects above a page, of all sizes, come and go: each keeps what was written to its pages, and what one takes is free for whatever
/// else when it is gone, though others beside it stay.
fn memory_large() -> Outcome {
    static BAD: AtomicU64 = AtomicU64::new(0);
    let wg = WaitGroup::new();
    for i in 0..2 * num_cpu() as u64 {
        wg.go(move || {
            let mut rng = chance(i);
            let mut held: Vec<(Vec<u64>, u64)> = Vec::new();
            for step in 0..param("steps", 2000) {
                if held.len() > 20 || (!held.is_empty() && rng.below(2) == 0) {
                    let (old, mark) = held.swap_remove(rng.below(held.len() as u32) as usize);
                    if old.iter().step_by(PAGE_BYTES / 8).any(|&word| word != mark) {
                        bump(&BAD);
                    }
                    continue;
                }
                let most = 1 << rng.below(6);
                let pages = 1 + rng.below(most) as usize;
                let mut words = Vec::with_capacity(pages * PAGE_BYTES / 8 + 1);
                let mark = i << 32 | step;
                words.resize(words.capacity(), mark);
                held.push((words, mark))
            }
        });
    }
    wg.wait();
    let bad = BAD.load(Relaxed);
    ensure!(bad == 0, "{bad} objects lost what was in them");

    let before = used_frames();
    let all = 500;
    let mut held: Vec<Vec<u8>> = (0..all)
        .map(|_| Vec::with_capacity(3 * PAGE_BYTES))
        .collect();
    let most = used_frames() - before;
    let mut even = false;
    held.retain(|_| {
        even = !even;
        even
    });
    let half = used_frames() - before;
    drop(held);
    let none = used_frames().saturating_sub(before);
    figure!("frames_most", most);
    figure!("frames_half", half);
    figure!("frames_after", none);
    ensure!(
        most >= 3 * all && half <= most / 2 + 32 && none <= 32,
        "{most} frames for {all} objects, {half} for half of them, {none} for none"
    );
    // They are free, not only gone.
    crate::wait::until(|| mem::flush::held_frames() == 0);
    Ok(())
}

/// One side makes objects, the other drops them: magazines empty on one CPU and fill on another.
fn memory_cross() -> Outcome {
    let n = param("objects", 100_000);
    let before = mem::heap::usage().small_used_bytes;
    let wg = WaitGroup::new();
    for _ in 0..num_cpu() {
        let (give, take) = chan::<Box<[u64; 8]>>(64);
        wg.go(move || (0..n).for_each(|i| give.send(Box::new([i; 8])).expect("open")));
        wg.go(move || {
            for (i, object) in (&take).into_iter().enumerate() {
                assert_eq!(*object, [i as u64; 8], "an object was given out twice");
            }
        });
    }
    wg.wait();
    let after = mem::heap::usage().small_used_bytes;
    figure!("bytes_before", before);
    figure!("bytes_after", after);
    ensure!(
        after < before + (64 << 10),
        "{} bytes were not given back",
        after - before
    );
    Ok(())
}

/// Uses `pages` pages of stack.
#[inline(never)]
fn touch(pages: u64) -> u64 {
    let mut room = [pages; PAGE_BYTES / 8];
    black_box(&mut room);
    if pages == 0 {
        0
    } else {
        touch(pages - 1) + black_box(room[7])
    }
}

/// Go #9869: a peak of goroutines with grown stacks, ten times; the tenth needs what the first did, and memory comes back
/// after each.
fn memory_peaks() -> Outcome {
    let (n, pages) = (param("gs", 20_000), param("pages", 4));
    let before = used_frames();
    let (mut peaks, mut after) = (Vec::new(), 0);
    for _ in 0..10 {
        static TOUCHED: AtomicU64 = AtomicU64::new(0);
        TOUCHED.store(0, SeqCst);
        let (gate, at_gate) = chan::<()>(0);
        for i in 0..n {
            let at_gate = at_gate.clone();
            go(move || {
                touch(pages);
                bump(&TOUCHED);
                at_gate.recv();
            });
            while i - TOUCHED.load(Relaxed).min(i) > 256 {
                yield_now()
            }
        }
        crate::wait::until(|| TOUCHED.load(SeqCst) == n);
        peaks.push(used_frames());
        drop(gate);
        crate::wait::until(|| num_goroutine() == 1);
        // Two rounds of flush points, each at the latest at the next tick.
        for _ in 0..200 {
            sleep(Duration::from_millis(5));
            after = used_frames();
            if after - before.min(after) < (peaks[0] - before) / 10 {
                break;
            }
        }
    }
    figure!("gs", n);
    figure!("frames_before", before);
    figure!("frames_peak", peaks[0]);
    figure!("frames_after", after);
    ensure!(
        peaks[9] * 100 <= peaks[0] * 105,
        "frames in use at each peak: {peaks:?}"
    );
    let (peak, rest) = (peaks[0] - before, after - before.min(after));
    // What stays: page tables of the slots, some thousand dead goroutines that wait to be used again.
    ensure!(rest * 3 < peak, "{rest} frames of {peak} did not come back");
    Ok(())
}

/// Stacks are trimmed and given back while others grow: nobody may find a page of somebody else. Debug builds mark frames
/// in quarantine, and find writes to them.
fn memory_stale() -> Outcome {
    static BAD: AtomicU64 = AtomicU64::new(0);
    for wave in 0..param("waves", 12) {
        let wg = WaitGroup::new();
        for i in 0..param("gs", 6000) {
            wg.go(move || {
                let mut rng = chance(wave << 32 | i);
                let pages = rng.below(8).into();
                for _ in 0..2 {
                    if touch(pages) != (0..=pages).sum::<u64>() {
                        bump(&BAD);
                    }
                    yield_now();
                }
            });
        }
        wg.wait();
    }
    ensure!(
        BAD.load(Relaxed) == 0,
        "{} stacks had pages of others",
        BAD.load(Relaxed)
    );
    Ok(())
}
