//! `cargo run -- bench`, as scripts use it: lines that are well formed, and orders that hold on any host. No time is judged; what
//! an operation costs is, in instructions (`bench/counts.toml`).

use libtest_mimic::Trial;
use ringo_runner::PROFILE;
use serde_json::Value;
use tests::{RunnerOutput, run_runner, trial};

/// Keys of a line, as the harness for Go has them.
const KEYS: [&str; 11] = [
    "bench", "env", "procs", "unit", "ops", "reps", "min", "med", "max", "params", "extra",
];

fn run(name: &str, words: &[&str]) -> Result<RunnerOutput, String> {
    let words = [&["bench"], words].concat();
    run_runner("bench", &format!("bench::{name}"), &words, |c| c)
}

fn lines(out: &RunnerOutput) -> Result<Vec<Value>, String> {
    let parse = |line| serde_json::from_str(line).map_err(|e| format!("{e}: {line}"));
    out.stdout.lines().map(parse).collect()
}

/// What is said must hold.
fn is(what: &str, holds: bool, out: &RunnerOutput) -> Result<(), String> {
    holds
        .then_some(())
        .ok_or_else(|| format!("{what} does not hold:\n{}", out.stdout))
}

/// Two benchmarks with few operations, on one P and on two.
fn json() -> Result<(), String> {
    let words = [
        "yield2,chan_pingpong",
        "--scale",
        "0.01",
        "--smp",
        "2",
        "--json",
    ];
    let out = run("lines", &words)?;
    out.ended(0, "\"others_cores\":")?;
    let all = lines(&out)?;
    let (run, rows) = all.split_last().ok_or("it printed nothing")?;
    is(
        "the last line is about the run",
        run["bench"] == "_qemu" && run["clean"] == true,
        &out,
    )?;
    for row in rows {
        let is_whole = KEYS.iter().all(|key| row.get(*key).is_some());
        is("every line has all keys", is_whole, &out)?;
        let figure = |key: &str| row[key].as_f64().unwrap_or(-1.0);
        let is_ordered = 0.0 <= figure("min")
            && figure("min") <= figure("med")
            && figure("med") <= figure("max");
        is(
            "min <= med <= max",
            is_ordered && row["env"] == "ringo-qemu-tcg-smp2",
            &out,
        )?;
    }
    let of = |bench: &'static str| rows.iter().filter(move |row| row["bench"] == bench);
    let procs: Vec<_> = of("chan_pingpong")
        .map(|row| row["procs"].as_u64())
        .collect();
    is("on one P and on two", procs == [Some(1), Some(2)], &out)?;
    is("yield2 is for one P", of("yield2").count() == 1, &out)?;
    let operations = |bench: &'static str| of(bench).next().and_then(|row| row["ops"].as_u64());
    let counts = [operations("yield2"), operations("chan_pingpong")];
    is(
        "a hundredth of the operations",
        counts == [Some(10_000), Some(2000)],
        &out,
    )?;
    // What an operation contains costs less than it.
    let least = |bench: &'static str| of(bench).next().and_then(|row| row["min"].as_f64());
    let parts = [
        least("bare_switch"),
        least("yield2"),
        least("chan_pingpong"),
    ];
    is(
        "a switch < a yield < a round trip",
        parts[0].is_some() && parts.is_sorted(),
        &out,
    )?;
    let timer = of("bare_timer").next().and_then(|row| row["ops"].as_u64());
    is("the timer was looked at", timer == Some(2), &out)
}

/// For people.
fn table() -> Result<(), String> {
    let out = run(
        "a table",
        &[
            "mutex_uncontended,fib_serial",
            "--scale",
            "0.01",
            "--smp",
            "1",
        ],
    )?;
    for says in [
        "mutex_uncontended",
        " x a lock\n",
        "fib_serial n=23",
        "bare_timer",
        "cores busy meanwhile",
    ] {
        out.ended(0, says)?
    }
    is(
        "nothing else is shown",
        !out.stdout.contains("yield2"),
        &out,
    )
}

/// The kernel is the one that is measured, not one with checks.
fn counts() -> Result<(), String> {
    let words = ["bench", "--count"];
    let out = run_runner("bench", "bench::counts", &words, |mut command| {
        command.env_remove(PROFILE);
        command
    })?;
    out.ended(0, "two boots agree to the instruction")
}

type Check = fn() -> Result<(), String>;

pub fn trials() -> Vec<Trial> {
    let checks: [(&str, Check); 3] = [("lines", json), ("a table", table), ("counts", counts)];
    let checks = checks.map(|(name, check)| trial(format!("bench::{name}"), check));
    let wrong: [(&str, &[&str], &str); 5] = [
        (
            "a wrong name",
            &["yeld2,lat"],
            "did you mean yield2? there are bare_loop, bare_switch, ",
        ),
        ("no scale", &["yield2", "--scale", "0"], "a number above 0"),
        (
            "counts of lateness",
            &["lat", "--count"],
            "none of these has a count",
        ),
        (
            "counts on two CPUs",
            &["--count", "--smp", "2"],
            "--count counts on one CPU",
        ),
        ("a record of nothing", &["--record"], "--count"),
    ];
    let wrong = wrong.map(|(name, words, says)| {
        trial(format!("bench::{name}"), move || {
            run(name, words)?.ended(1, says)
        })
    });
    checks.into_iter().chain(wrong).collect()
}
