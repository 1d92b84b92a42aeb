//! Programs in files of their own, and the demos, by the binary behind `cargo run`: what they print, and how they end.

use libtest_mimic::Trial;
use std::path::PathBuf;
use std::process::Command;
use tests::{RunnerOutput, note, root, run_runner, trial};

/// Name, arguments, exit status, and something on the error side.
const FILES: &[(&str, &[&str], i32, &str)] = &[
    ("greeting", &[], 0, ""),
    ("channels", &[], 0, ""),
    ("together", &[], 0, ""),
    ("timely", &[], 0, ""),
    (
        "failing",
        &["one", "", "three", "größer, 4"],
        1,
        "this goes to the error side",
    ),
];

const MACHINES: &[&[&str]] = &[
    &["--smp", "1"],
    &["--smp", "4"],
    &["--machine", "host", "--smp", "2"],
];

/// Demos, options and the exit status.
const DEMOS: &[(&str, &[&str], i32, &str)] = &[
    ("hello", &["--smp", "4"], 0, ""),
    ("pingpong", &["--smp", "2"], 0, ""),
    ("sieve", &["--machine", "host", "--", "300"], 0, ""),
    (
        "deadlock",
        &["--machine", "host"],
        2,
        "goroutine 1 [chan receive]:\n(no frames on the host machine)\n",
    ),
    (
        "sieve",
        &["--machine", "host", "--", "300", "--set", "steal=off"],
        1,
        "ringo: --set stands behind `--`, so the program got it",
    ),
    (
        "echo",
        &["--machine", "host", "--", "2"],
        0,
        "ringo: this machine has no network (--machine host): only 127.0.0.1 can be reached",
    ),
    (
        "echo",
        &["--seed", "1", "--", "2"],
        0,
        "ringo: this machine has no network (--seed): only 127.0.0.1 can be reached",
    ),
    ("sieve", &["--smp", "2", "--", "300"], 0, ""),
    ("producer_consumer", &["--smp", "2"], 0, ""),
    (
        "switchcost",
        &["--smp", "2", "--", "200"],
        0,
        "round trip of two processes (messages)",
    ),
    ("steal", &["--smp", "2"], 0, ""),
    (
        "deadlock",
        &["--smp", "2"],
        2,
        "all goroutines are asleep - deadlock!",
    ),
    ("overflow", &["--smp", "2"], 2, "stack overflow: goroutine"),
    ("panic", &["--smp", "2"], 2, "attempt to divide by zero"),
    (
        "starve",
        &["--procs", "1", "--set", "preempt=off", "--timeout", "3"],
        3,
        "time limit",
    ),
];

fn folder() -> PathBuf {
    root().path().join("tests/programs")
}

fn file(name: &str, machine: &[&str], args: &[&str], exit: i32, says: &str) -> Result<(), String> {
    let path = folder().join(format!("{name}.rs")).display().to_string();
    let want =
        std::fs::read_to_string(folder().join(format!("{name}.out"))).map_err(|e| e.to_string())?;
    let mut words = vec![path.as_str(), "--timeout", "120"];
    words.extend(machine);
    words.push("--");
    words.extend(args);
    let run = run_runner(
        "programs",
        &format!("programs::{name} {}", machine.join(" ")),
        &words,
        |c| c,
    )?;
    let got: Vec<&str> = run
        .stdout
        .lines()
        .map(str::trim_end)
        .filter(|l| l.starts_with("> "))
        .collect();
    if got != want.lines().collect::<Vec<_>>() {
        return Err(format!(
            "it printed\n{}\ninstead of\n{want}\n{}",
            run.stdout, run.stderr
        ));
    }
    run.ended(exit, says)
}

fn demo(name: &str, options: &[&str], exit: i32, says: &str) -> Result<(), String> {
    let mut words = vec![name];
    if !options.contains(&"--timeout") {
        words.extend(["--timeout", "120"]);
    }
    words.extend(options);
    run_runner("programs", &format!("programs::demo {name}"), &words, |c| c)?.ended(exit, says)
}

/// Both sides in one pipe: lines stay whole, but for a few where the host takes a CPU off in the middle of one; it may do so more
/// often at a bad moment, so the best of a few runs counts. Without the runner's care dozens are torn in each.
fn both_sides() -> Result<(), String> {
    const LINES: usize = 2000;
    const TORN: usize = 6;
    const RUNS: usize = 4;
    let mut said = String::new();
    for _ in 0..RUNS {
        let run = in_one_pipe()?;
        let whole = whole_lines(&run.stdout, LINES, TORN);
        if run.status == Some(0) && whole + TORN >= 2 * LINES {
            let torn = 2 * LINES - whole;
            note(format!(
                "programs: {torn} of {} lines of two sides in one pipe were torn",
                2 * LINES
            ));
            return Ok(());
        }
        let torn = |line: &&str| !line.ends_with("and this is its end") || line.len() > 60;
        let torn: Vec<_> = run.stdout.lines().filter(torn).take(10).collect();
        said = format!(
            "status {:?}, {whole} lines are whole; torn: {torn:#?}",
            run.status
        );
        if run.status != Some(0) {
            break;
        }
    }
    Err(said)
}

/// Runs a program that writes to both sides, which are one pipe.
fn in_one_pipe() -> Result<RunnerOutput, String> {
    let path = folder().join("both_sides.rs").display().to_string();
    let words = [path.as_str(), "--smp", "2", "--timeout", "120"];
    let shell = |c: Command| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" 2>&1"]);
        shell.arg(c.get_program()).args(c.get_args());
        for (key, value) in c.get_envs() {
            match value {
                Some(value) => shell.env(key, value),
                None => shell.env_remove(key),
            };
        }
        if let Some(folder) = c.get_current_dir() {
            shell.current_dir(folder);
        }
        shell
    };
    run_runner("programs", "programs::both sides", &words, shell)
}

/// How many of the lines of each side, `lines` of them, are there whole and in their order; fewer than `torn` in a row may be missing.
fn whole_lines(text: &str, lines: usize, torn: usize) -> usize {
    let there: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut whole = 0;
    for side in ["console", "error side"] {
        let of = |n| format!("to the {side} goes line {n:04}, and this is its end");
        let mut wanted = (0..lines).map(of).peekable();
        for line in there.iter().filter(|line| line.starts_with("to the ")) {
            if let Some(ahead) = wanted.clone().take(torn + 1).position(|w| w == *line) {
                whole += 1;
                wanted.nth(ahead);
            }
        }
    }
    whole
}

/// A machine that its time limit ends while nobody does anything: that is said, and no more of the CPUs.
fn asleep() -> Result<(), String> {
    let options = ["--smp", "2", "--timeout", "4"];
    let says = "time limit reached\n  all CPUs are idle, 1 goroutine waits\n  goroutines: 1";
    demo("tests/programs/asleep.rs", &options, 3, says)
}

pub fn trials() -> Vec<Trial> {
    let mut all = vec![
        trial("programs::both sides smp=2", both_sides),
        trial("programs::asleep until its time limit", asleep),
    ];
    for (name, args, exit, says) in FILES {
        for machine in MACHINES {
            let run = move || file(name, machine, args, *exit, says);
            all.push(trial(
                format!("programs::{name} {}", machine.join(" ")),
                run,
            ));
        }
    }
    for (name, options, exit, says) in DEMOS {
        let wrong = if *exit == 1 { ", wrong" } else { "" };
        let machine = match options.contains(&"host") {
            true => ", host",
            false => "",
        };
        all.push(trial(
            format!("programs::demo {name}{machine}{wrong}"),
            move || demo(name, options, *exit, says),
        ));
    }
    all
}
