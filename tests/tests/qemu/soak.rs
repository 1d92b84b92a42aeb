//! A short soak: the mix of everything that `cargo run -- soak` boots for as long as one likes, and that command itself.

use libtest_mimic::Trial;
use ringo_runner::Disk;
use std::time::Duration;
use tests::{Case, DEFAULT, NO_NET, run_runner, trial};

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (smp, seed, mode) in [(1, 11, DEFAULT), (2, 12, NO_NET), (4, 13, DEFAULT)] {
        let case = Case::new("soak", "soak").smp(smp).mode(mode);
        all.push(case.arg("seed", seed).arg("rounds", 4).machine(|machine| {
            machine.disk = Disk::IfUsed;
            machine.disk_requests_per_s = None;
            machine.pauses = Some((Duration::from_millis(400), Duration::from_millis(50)));
        }));
    }
    all
}

/// One machine, by the command; and what it says to nonsense.
pub fn trials() -> Vec<Trial> {
    let run = |name: &'static str, words: &'static [&str], status: i32, says: &'static str| {
        trial(format!("soak::{name}"), move || {
            let out = run_runner("soak", name, words, |c| c)?;
            out.ended(status, says)
        })
    };
    vec![
        run(
            "one machine",
            &["soak", "--seed", "7", "--boots", "1", "--json"],
            0,
            "\"again\":\"cargo run -- soak --seed 7 --boots 1\"",
        ),
        run("help", &["soak", "--help"], 0, "how to run it again"),
        run(
            "no time",
            &["soak", "--minutes", "0"],
            1,
            "a number of minutes above 0",
        ),
    ]
}
