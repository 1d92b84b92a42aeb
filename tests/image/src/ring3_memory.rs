//! The memory of ring-3 programs: what they pass to the kernel, what they can reach, what comes and goes. The programs are those of
//! `tests/ring3`; here they are started, and afterwards nothing of them is left.

use crate::param::{param, plant_bug};
use crate::{Outcome, Test, ensure, figure};
use alloc::string::String;
use ringo::prelude::*;
use ringo::user::{Stdio, processes, spawn as start};

pub const TESTS: &[Test] = &[
    ("ring3_memory_pointers", || left_nothing(pointers)),
    ("ring3_memory_race", || left_nothing(race)),
    ("ring3_memory_isolation", || left_nothing(isolation)),
    ("ring3_memory_reused", || left_nothing(reused)),
    ("ring3_memory_storm", || left_nothing(storm)),
];

/// Runs a program without input to its end, which has to be `exit(0)`.
pub fn succeeds(name: &str, args: &[&str]) -> Outcome {
    let process = start(name, args, Stdio::without_input()).map_err(|e| format!("{name}: {e}"))?;
    let ended = process.wait();
    ensure!(ended.code() == 0, "{name} {args:?}: {ended}");
    Ok(())
}

/// Frames that a CPU, a heap or a cache may keep for the next one.
const KEPT_FRAMES: u64 = 256;

/// Page frames in use; those on their way back are not.
pub fn used_frames() -> u64 {
    mem::frames::total_frames() - mem::frames::free_frames() - mem::flush::held_frames()
}

/// Looks for goroutines that are about to end, a millisecond apart.
const LOOKS: u32 = 10_000;

/// Runs `test` twice: the first time warms caches and stacks, after the second one all that the programs had is given back.
pub fn left_nothing(test: fn() -> Outcome) -> Outcome {
    test()?;
    let (frames, gs) = (used_frames(), num_goroutine());
    test()?;
    let mut looks = 0;
    while looks < LOOKS && num_goroutine() > gs {
        sleep(Duration::from_millis(1)); // the last thread of a process ends after its process
        looks += 1
    }
    let now = (used_frames(), num_goroutine());
    ensure!(
        now.0 < frames + KEPT_FRAMES && now.1 <= gs && processes().is_empty(),
        "{frames} frames in use and {gs} goroutines before, {} and {} after; {} processes",
        now.0,
        now.1,
        processes().len()
    );
    figure!("frames_before", frames);
    figure!("frames_after", now.0);
    Ok(())
}

fn pointers() -> Outcome {
    succeeds("pointers", &[])
}

fn race() -> Outcome {
    succeeds("pointers", &["race", &number(param("rounds", 1000))])
}

fn isolation() -> Outcome {
    succeeds("isolation", &[])
}

/// Processes one after the other fill what a process may have, until each frame of the machine was used more than once.
fn reused() -> Outcome {
    let mib = mem::frames::total_frames() / 256;
    // A quarter is what a process may have; it needs some for itself.
    let each = (mib / 4).min(64) - 2;
    let rounds = mib / each + 2;
    for _ in 0..rounds {
        succeeds("isolation", &["fill", &number(each)])?
    }
    figure!("mib_filled", rounds * each);
    ensure!(rounds * each > mib, "{} MiB of {mib} filled", rounds * each);
    Ok(())
}

fn storm() -> Outcome {
    plant_bug();
    succeeds("storm", &[&number(param("rounds", 2000))])
}

fn number(n: u64) -> String {
    format!("{n}")
}
