//! What was run, printed at the end: past the capture of the test runner, since the figures are the point.

use ringo_runner::{Outcome, Traced};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

struct Row {
    area: &'static str,
    name: String,
    mode: &'static str,
    seconds: f64,
    /// Of QEMU's threads; 0 where nobody has asked.
    cpu_seconds: f64,
    boot: Option<Duration>,
    figures: BTreeMap<String, String>,
    passed: bool,
}

static ROWS: Mutex<Vec<Row>> = Mutex::new(Vec::new());
static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn rows() -> std::sync::MutexGuard<'static, Vec<Row>> {
    ROWS.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A boot that ended.
pub(crate) fn record(
    area: &'static str,
    name: &str,
    mode: &'static str,
    outcome: &Outcome,
    figures: BTreeMap<String, String>,
    passed: bool,
) {
    let seconds = outcome.wall.as_secs_f64();
    rows().push(Row {
        area,
        name: name.into(),
        mode,
        seconds,
        cpu_seconds: outcome.cpu_time.as_secs_f64(),
        boot: outcome.boot_to_main,
        figures,
        passed,
    });
}

/// A run of the binary behind `cargo run`.
pub(crate) fn record_command(area: &'static str, name: &str, took: Duration) {
    let row = Row {
        area,
        name: name.into(),
        mode: "default",
        seconds: took.as_secs_f64(),
        cpu_seconds: 0.0,
        boot: None,
        figures: BTreeMap::new(),
        passed: true,
    };
    rows().push(row);
}

/// Events that were followed, that were overwritten unread, and the runs in which some were.
static EVENTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// What the events of a boot came to.
pub(crate) fn record_events(traced: &Traced) {
    EVENTS[0].fetch_add(traced.events, Relaxed);
    EVENTS[1].fetch_add(traced.lost, Relaxed);
    EVENTS[2].fetch_add(u64::from(traced.lost != 0), Relaxed);
}

/// A line for the end.
pub fn note(line: String) {
    NOTES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .push(line)
}

/// Prints the table, the sums, and what failed once more. Nobody is left to tell that they cannot be written.
pub fn summary(took: Duration) {
    let mut rows = rows();
    rows.sort_by(|a, b| (a.area, &a.name).cmp(&(b.area, &b.name)));
    let say = |line: String| drop(writeln!(std::io::stderr(), "{line}"));
    rows.iter().for_each(|row| say(row.to_string()));
    let areas: BTreeSet<&str> = rows.iter().map(|row| row.area).collect();
    for area in areas {
        let of: Vec<&Row> = rows.iter().filter(|row| row.area == area).collect();
        say(sums(area, &of));
    }
    let notes = NOTES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    notes.iter().for_each(|line| say(line.clone()));
    if let Some(median) = median(rows.iter().filter_map(|row| row.boot)) {
        say(format!(
            "QEMU start to main: median {:.3} s, on machines of all kinds",
            median.as_secs_f64()
        ));
    }
    let [events, lost, runs] = &EVENTS;
    say(format!(
        "{} events checked; {} were overwritten before they could be read, in {} runs",
        events.load(Relaxed),
        lost.load(Relaxed),
        runs.load(Relaxed)
    ));
    let machines: f64 = rows.iter().map(|row| row.seconds).sum();
    let processors: f64 = rows.iter().map(|row| row.cpu_seconds).sum();
    say(format!(
        "{} runs, {machines:.1} s of machines ({processors:.1} CPU-s of QEMU) in {:.1} s",
        rows.len(),
        took.as_secs_f64()
    ));
    crate::failures::recap();
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = if self.passed { "" } else { "FAILED  " };
        let (seconds, cpu) = (self.seconds, self.cpu_seconds);
        write!(f, "{seconds:7.2} s {cpu:7.2} CPU-s  {failed}{}", self.name)?;
        let figures = self.figures.iter().enumerate();
        figures.into_iter().try_for_each(|(i, (name, value))| {
            write!(f, "{}{name} {value}", if i == 0 { "  " } else { ", " })
        })
    }
}

/// The line of one area: runs by mode, and the injected calls where there are some.
fn sums(area: &str, of: &[&Row]) -> String {
    let mut modes: BTreeMap<&str, u32> = BTreeMap::new();
    of.iter()
        .for_each(|row| *modes.entry(row.mode).or_default() += 1);
    let modes: Vec<String> = modes
        .iter()
        .map(|(mode, n)| format!("{n} {mode}"))
        .collect();
    let failed = of.iter().filter(|row| !row.passed).count();
    let seconds: f64 = of.iter().map(|row| row.seconds).sum();
    let mut line = format!(
        "{area}: {} runs ({}), {failed} failed, {seconds:.1} s",
        of.len(),
        modes.join(", ")
    );
    // Builds with a planted bug do not count.
    let sound = of
        .iter()
        .filter(|row| row.figures.get("corrupt").is_some_and(|n| n == "0"));
    let injected: u64 = sound
        .filter_map(|row| row.figures.get("injected")?.parse::<u64>().ok())
        .sum();
    if injected > 0 {
        line.push_str(&format!("; {injected} injected calls, nothing changed"));
    }
    line
}

/// The middle one.
pub fn median(all: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut all: Vec<Duration> = all.collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}
