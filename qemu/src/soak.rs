//! `cargo run -- soak`: machine after machine with a random mix of everything, faults at named points, CPUs that stand still, and
//! switches by chance, until the time is over or one fails.
//!
//! Everything about a machine follows from one number: its CPUs, its switches, what its goroutines do. So one number is all that is
//! needed to run it again; what the host does between is not in it.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use base::rng::Rng;
use clap::Parser;
use serde_json::json;

use crate::builder::{self, BuildOptions};
use crate::numbers::{seed, whole};
use crate::progress::Progress;
use crate::user_build::{USER_PROGRAMS, USER_TESTS, user_programs_for};
use crate::{Disk, Failure, Machine, Outcome, Result, Root, say as words};

/// A machine that takes longer has hung. They take seconds.
const HUNG: Duration = Duration::from_secs(180);
/// All CPUs of a machine stand still for so long …
const PAUSE: Duration = Duration::from_millis(50);
/// … and then run for so long.
const BETWEEN: Duration = Duration::from_millis(400);

/// Lines of a failed machine's output that are shown, at its beginning and at its end.
const SHOWN: usize = 60;

/// Switches, each with a chance of one in three; where there are several words, one of them.
const SWITCHES: &[&[&str]] = &[
    &["policy=fifo", "policy=lifo"],
    &["steal=one", "steal=off"],
    &["queue=global"],
    &["runnext=off"],
    &["handoff=off"],
    &["spin=off"],
    &["wakeup=off"],
    &["sysmon=off"],
    &["mcache=off"],
    &["slice_us=50", "slice_us=1000"],
    &["preempt=coop", "preempt=off"],
];

/// Boots machines that run a random mix of everything, with faults at named points and CPUs that stand still, until the time is
/// over. The first that fails ends it: what failed, its number, and how to run it again.
#[derive(Debug, Parser)]
#[command(
    name = "cargo run -- soak",
    disable_version_flag = true,
    after_help = "Exit status: 0 nothing failed; otherwise that of the machine that failed: 1 a wrong result, 2 fatal, 3 it died or \
                  hung"
)]
pub struct SoakArgs {
    /// How long machines are booted; the last one runs to its end
    #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = minutes, allow_negative_numbers = true)]
    minutes: f64,
    /// Number of the first machine; each has the next one [default: from the clock]
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// CPUs of all machines [default: 1 to 4, by the machine's number]
    #[arg(long, value_name = "N", value_parser = whole(1..=64u32, "4"), allow_negative_numbers = true)]
    smp: Option<u32>,
    /// Machines at most
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX, "100"), allow_negative_numbers = true)]
    boots: Option<u32>,
    /// Prints a JSON line for each machine, and one for all
    #[arg(long)]
    json: bool,
}

fn minutes(text: &str) -> std::result::Result<f64, String> {
    let wrong = "a number of minutes above 0 and up to 10000, such as 2 or 0.5";
    let n: f64 = text.parse().map_err(|_| wrong)?;
    (n > 0.0 && n <= 10_000.0).then_some(n).ok_or(wrong.into())
}

/// CPUs and words of machine number `seed`.
fn plan(seed: u64, smp: Option<u32>) -> (u32, Vec<String>) {
    let mut rng = Rng::new(seed);
    let cpus = 1 + rng.below(4);
    let mut words = Vec::new();
    for choices in SWITCHES {
        let (chosen, which) = (rng.below(3) == 0, rng.below(choices.len() as u32));
        words.extend(chosen.then(|| choices[which as usize].to_string()));
    }
    (smp.unwrap_or(cpus), words)
}

/// The command that boots machine `seed` alone.
fn again(seed: u64, smp: Option<u32>) -> String {
    let smp = smp.map_or(String::new(), |n| format!(" --smp {n}"));
    format!("cargo run -- soak --seed {seed} --boots 1{smp}")
}

/// What all machines boot.
struct Image {
    kernel: PathBuf,
    user_programs: Vec<(String, PathBuf)>,
}

/// Builds the tests' image.
fn image(root: &Root) -> Result<Image> {
    let options = BuildOptions {
        checks: true,
        progress: true,
        ..BuildOptions::default()
    };
    let kernel = builder::build_kernel(root, "test-image", "test-image", &options)?;
    let packages = [USER_PROGRAMS, USER_TESTS];
    let user_programs = user_programs_for(root, &kernel, &packages, &options)?;
    Ok(Image {
        kernel,
        user_programs,
    })
}

fn boot(image: &Image, args: &SoakArgs, seed: u64) -> Result<(Outcome, String)> {
    let (smp, words) = plan(seed, args.smp);
    let what = format!("machine {seed}: smp={smp} {}", words.join(" "));
    let mut machine = Machine::new(image.kernel.clone(), "soak");
    machine.user_programs.clone_from(&image.user_programs);
    machine.smp = smp;
    machine.words = words;
    machine.args = vec!["soak".to_string(), format!("seed={seed}")];
    machine.disk = Disk::IfUsed;
    machine.disk_requests_per_s = None;
    machine.pauses = Some((BETWEEN, PAUSE));
    machine.timeout = Some(HUNG);
    machine
        .run()
        .map(|outcome| (outcome, what.trim_end().to_string()))
}

/// Boots machines until the time is over; the exit status.
///
/// # Errors
/// The test image does not build, or QEMU does not start.
pub fn soak(args: &SoakArgs) -> Result<u8> {
    let root = Root::find()?;
    crate::prepare()?;
    if !root.path().join("tests/image/Cargo.toml").is_file() {
        return Err(Failure::new(
            "soak boots the tests' image, and tests/image is not there",
        ));
    }
    let image = image(&root)?;
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let first = args
        .seed
        .unwrap_or_else(|| clock.map_or(1, |time| time.as_secs() % 1_000_000));
    let limit = Duration::from_secs_f64(args.minutes * 60.0);
    let (begin, progress) = (Instant::now(), Progress::start(true, "soak"));
    let mut boots = 0;
    while boots == 0 || begin.elapsed() < limit && args.boots.is_none_or(|most| boots < most) {
        let seed = first.wrapping_add(u64::from(boots));
        progress.say(format!("soak: machine {seed}, {boots} were well"));
        let (outcome, what) = boot(&image, args, seed)?;
        boots += 1;
        say(args, &progress, &outcome, &what, seed);
        if outcome.exit != 0 {
            return Ok(outcome.exit);
        }
    }
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    progress.clear();
    if args.json {
        tell(
            &json!({"event": "soak", "machines": boots, "minutes": minutes, "exit": 0}).to_string(),
        )
    } else {
        tell(&format!(
            "{boots} machines in {minutes:.1} minutes, none failed"
        ))
    }
    Ok(0)
}

/// A line for each machine, and everything about one that failed.
fn say(args: &SoakArgs, progress: &Progress, outcome: &Outcome, what: &str, seed: u64) {
    let seconds = outcome.wall.as_secs_f64();
    if outcome.exit != 0 {
        progress.clear();
        words::to_stderr(&failure(outcome, what, &again(seed, args.smp)))
    }
    if args.json {
        let line = json!({
            "event": "machine", "seed": seed, "what": what, "exit": outcome.exit, "wall_s": seconds,
            "again": again(seed, args.smp),
        });
        tell(&line.to_string())
    } else if outcome.exit == 0 {
        tell(&format!("{what}: well, {seconds:.1} s"))
    }
}

/// Nobody is left to tell that nobody reads it.
fn tell(line: &str) {
    drop(writeln!(std::io::stdout().lock(), "{line}"))
}

fn failure(outcome: &Outcome, what: &str, again: &str) -> String {
    // What happened comes first, the goroutines follow.
    let some = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() <= 2 * SHOWN {
            return lines.join("\n");
        }
        let (first, last) = (&lines[..SHOWN], &lines[lines.len() - SHOWN..]);
        format!("{}\n…\n{}", first.join("\n"), last.join("\n"))
    };
    format!(
        "{}\n{}\nringo: {what}: failed with status {} after {:.1} s\nringo: again: {again}\n",
        some(&outcome.stdout),
        some(&outcome.stderr),
        outcome.exit,
        outcome.wall.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_number_is_a_machine() {
        assert_eq!(plan(7, None), plan(7, None));
        assert_eq!(plan(7, Some(9)).0, 9);
        assert_eq!(plan(7, Some(9)).1, plan(7, None).1);
        let all: Vec<_> = (0..200).map(|seed| plan(seed, None)).collect();
        let words: HashSet<&str> = all.iter().flat_map(|m| &m.1).map(String::as_str).collect();
        let known: HashSet<&str> = SWITCHES.iter().copied().flatten().copied().collect();
        assert_eq!(words, known);
        assert!((1..=4).all(|n| all.iter().any(|machine| machine.0 == n)));
        for (smp, words) in &all {
            let line = format!("{} smp={smp}", words.join(" "));
            assert!(base::config::Config::parse(&line).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_failure_says_how_to_see_it_again() {
        let outcome = Outcome {
            exit: 2,
            stderr: "all goroutines are asleep\n".into(),
            ..Outcome::default()
        };
        let text = failure(&outcome, "machine 7: smp=2", &again(7, Some(2)));
        assert!(text.contains("all goroutines are asleep"), "{text}");
        let last = "ringo: again: cargo run -- soak --seed 7 --boots 1 --smp 2\n";
        assert!(text.ends_with(last), "{text}");
        assert_eq!(again(7, None), "cargo run -- soak --seed 7 --boots 1");
    }

    #[test]
    fn times() {
        assert_eq!(minutes("0.5"), Ok(0.5));
        for bad in ["0", "-1", "x", "nan", "1e9"] {
            assert!(minutes(bad).unwrap_err().starts_with("a number of minutes"));
        }
    }
}
