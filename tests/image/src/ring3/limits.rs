//! Limits: each is reached with the right error, and who runs into one hurts nobody in another job.

use super::{comes_back, run, start, start_with, used_frames};
use crate::wait::until;
use crate::{Outcome, Test, ensure, figure};
use alloc::string::String;
use alloc::vec::Vec;
use ringo::prelude::*;
use ringo::user::{self, Error, Stdio};

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("ring3_limits", ring3_limits),
    ("ring3_forkbomb", ring3_forkbomb),
    ("ring3_no_memory", ring3_no_memory),
    ("ring3_kernel_memory", ring3_kernel_memory),
    ("ring3_printer", ring3_printer),
    ("ring3_family", ring3_family),
    ("ring3_programs", ring3_programs),
];

/// Of the processes of a job that live.
const PROCESSES: usize = 64;

fn ring3_limits() -> Outcome {
    run("limits", &[])
}

/// All places of a job are taken, again and again; another job's processes begin and end.
fn ring3_forkbomb() -> Outcome {
    comes_back(100, forkbomb)
}

fn forkbomb() -> Outcome {
    let bomb = start("forkbomb", &[])?;
    let of_the_bomb = || {
        user::processes()
            .iter()
            .filter(|p| p.name == "forkbomb")
            .count()
    };
    until(|| of_the_bomb() == PROCESSES);
    for _ in 0..10 {
        run("null", &[])?;
        let n = of_the_bomb();
        ensure!(n <= PROCESSES, "{n} processes of one job");
    }
    bomb.kill_job();
    bomb.wait();
    until(|| user::processes().is_empty());
    Ok(())
}

/// On a small machine: several that take memory without end, each in a job of its own. Who is refused ends by itself, who touches a
/// page that is not there is ended; the kernel goes on, and has all of it back.
fn ring3_no_memory() -> Outcome {
    comes_back(100, || {
        let takers: Result<Vec<_>, String> = (0..8).map(|_| start("crash", &["oom"])).collect();
        for taker in takers? {
            let ended = taker.wait();
            ensure!([1, 201].contains(&ended.code()), "oom: {ended}");
        }
        run("null", &[])
    })
}

/// On a small machine: processes of two jobs have all kept for them that they may, and end. Then it is anybody's again, for whatever it
/// is used: page frames are free, not only places for more of the same.
fn ring3_kernel_memory() -> Outcome {
    run("null", &[])?;
    let before = used_frames();
    for _ in 0..2 {
        until(|| mem::flush::held_frames() == 0); // else there may be less than they want
        let keepers = [start("limits", &["keep"])?, start("limits", &["keep"])?];
        for keeper in keepers {
            let ended = keeper.wait();
            ensure!(ended.code() == 0, "keep: {ended}");
        }
    }
    // On their way back for some ticks.
    let mut kept = 0;
    for _ in 0..100 {
        kept = used_frames().saturating_sub(before) + mem::flush::held_frames();
        if kept <= 400 {
            break;
        }
        sleep(Duration::from_millis(10))
    }
    figure!("frames_kept", kept);
    ensure!(kept <= 400, "{kept} frames did not come back");
    Ok(())
}

/// Who reads what a process prints without end gets an error, not all of the machine's memory.
fn ring3_printer() -> Outcome {
    let text = |why: Error| why.to_string();
    let (stdio, output) = Stdio::without_input().and_output().map_err(text)?;
    let printer = start_with("limits", &["print"], stdio)?;
    ensure!(
        output.read_to_end(100_000) == Err(Error::TooMuch(100_000)),
        "there is more"
    );
    let mut more = [0; 100];
    ensure!(output.read(&mut more) > 0, "it goes on");
    printer.kill();
    ensure!(printer.wait().code() == 200, "it is killed");
    Ok(())
}

fn ring3_family() -> Outcome {
    comes_back(100, || run("family", &[]))
}

/// Programs that use what there is, whatever the scheduler's switches are.
fn ring3_programs() -> Outcome {
    let programs: [(&str, &[&str]); 5] = [
        ("hello", &["a", "b"]),
        ("sieve", &["100"]),
        ("pipeline", &["5000"]),
        ("family", &[]),
        ("ticker", &["1", "20"]),
    ];
    for (name, args) in programs {
        run(name, args)?
    }
    Ok(())
}
