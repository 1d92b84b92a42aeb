//! `Kill` finds a process wherever its threads are: in ring 3, in any wait, in a read of the disk, before their first instruction,
//! on their way out. The machine has a network where nobody answers, and a disk.

use super::{comes_back, start, start_with};
use crate::param::param;
use crate::wait::{chance, spin, until};
use crate::{Outcome, Test, ensure};
use alloc::string::String;
use ringo::prelude::*;
use ringo::user::{self, Process, Stdio};
use sched::{GStatus, WaitReason};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("ring3_kill_settled", ring3_kill_settled),
    ("ring3_kill_by_process", ring3_kill_by_process),
    ("ring3_kill_moments", ring3_kill_moments),
    ("ring3_kill_job", ring3_kill_job),
];

/// What `stuck` does, and why its first thread waits then; None: it runs.
const PLACES: &[(&str, Option<WaitReason>)] = &[
    ("ring3", None),
    ("calls", None),
    ("faults", None),
    ("disk", None),
    ("sleep", Some(WaitReason::Sleep)),
    ("futex", Some(WaitReason::SemAcquire)),
    ("pipe", Some(WaitReason::IoWait)),
    ("full-pipe", Some(WaitReason::IoWait)),
    ("receive", Some(WaitReason::ChanReceive)),
    ("send", Some(WaitReason::ChanSend)),
    ("accept", Some(WaitReason::IoWait)),
    ("connect", Some(WaitReason::IoWait)),
    ("console", None), // it looks, and sleeps in between
    ("child", Some(WaitReason::Join)),
    ("threads", None),
];

fn stuck(place: &str) -> Result<Process, String> {
    start_with("stuck", &[place], Stdio::console())
}

/// Whether a thread of it waits for this reason.
fn waiting(process: &Process, reason: WaitReason) -> bool {
    let all = user::processes();
    let Some(info) = all.iter().find(|info| info.id == process.id()) else {
        return false;
    };
    let waits = |g: &sched::GInfo| g.status == GStatus::Waiting && g.wait == reason;
    info.threads.iter().any(|t| waits(&t.g))
}

/// It is where it says.
fn settle(process: &Process, reason: Option<WaitReason>) {
    match reason {
        Some(reason) => {
            while !waiting(process, reason) {
                sleep(Duration::from_micros(200))
            }
        }
        None => sleep(Duration::from_millis(5)),
    }
}

fn is_killed(process: &Process, place: &str) -> Outcome {
    for _ in 0..2 {
        let ended = process.wait().to_string();
        ensure!(ended == "killed", "{place}: {ended}");
    }
    ensure!(
        !user::kill(process.id()),
        "{place}: it is still in the table"
    );
    Ok(())
}

/// Each place, ended by the kernel: once, twice, and by two goroutines at once.
fn ring3_kill_settled() -> Outcome {
    comes_back(100, settled)
}

fn settled() -> Outcome {
    for &(place, reason) in PLACES {
        let process = stuck(place)?;
        settle(&process, reason);
        process.kill();
        process.kill();
        is_killed(&process, place)?;
        let process = Arc::new(stuck(place)?);
        settle(&process, reason);
        let killers = [(); 2].map(|()| {
            let process = process.clone();
            spawn(move || {
                process.kill();
                process.wait()
            })
        });
        for killer in killers {
            let ended = killer.join();
            ensure!(ended.code() == 200, "{place}: {ended}");
        }
        is_killed(&process, place)?;
        process.kill(); // nothing happens
        end_orphans();
    }
    Ok(())
}

/// What `stuck child` leaves behind sleeps for an hour.
fn end_orphans() {
    for orphan in user::processes() {
        user::kill(orphan.id);
    }
    until(|| user::processes().is_empty())
}

/// Each place, ended by another process, which also waits for it with several threads.
fn ring3_kill_by_process() -> Outcome {
    comes_back(100, by_process)
}

fn by_process() -> Outcome {
    for &(place, _) in PLACES {
        let ended = start_with("killer", &[place], Stdio::console())?.wait();
        ensure!(ended.code() == 0, "killer {place}: {ended}");
        end_orphans();
    }
    Ok(())
}

/// At any moment of its first two milliseconds: before its first instruction, while it starts threads; and while it ends by itself,
/// where either end is right.
fn ring3_kill_moments() -> Outcome {
    comes_back(100, moments)
}

fn moments() -> Outcome {
    let mut rng = chance(7);
    for round in 0..param("rounds", 75) {
        let (place, _) = PLACES[round as usize % PLACES.len()];
        let by_itself = round % 2 == 0;
        let process = match by_itself {
            true => start("lives", &["leave"])?,
            false => stuck(place)?,
        };
        match rng.below(4) {
            0 => {}
            1 => spin(rng.below(20_000)),
            2 => yield_now(),
            _ => sleep(Duration::from_micros(rng.below(2000).into())),
        }
        process.kill();
        let code = process.wait().code();
        let right = code == 200 || by_itself && code == 9;
        ensure!(right, "{place}, {by_itself}: code {code}");
        end_orphans();
    }
    Ok(())
}

/// A job is ended with all that it has started, while it starts more; a neighbour is not.
fn ring3_kill_job() -> Outcome {
    comes_back(100, job)
}

fn job() -> Outcome {
    let neighbour = start("stuck", &["sleep"])?;
    settle(&neighbour, Some(WaitReason::Sleep));
    for round in 0..param("jobs", 5) {
        let job = start("forkbomb", &[])?;
        sleep(Duration::from_millis(1 + 4 * round));
        job.kill_job();
        job.wait();
        until(|| user::processes().len() == 1);
    }
    let left = user::processes();
    ensure!(
        left.iter().all(|p| p.id == neighbour.id()) && waiting(&neighbour, WaitReason::Sleep),
        "left are {}",
        super::Names(&left)
    );
    neighbour.kill();
    is_killed(&neighbour, "neighbour")?;
    Ok(())
}
