//! What was run, printed at the end: past the capture of the test runner, since the figures are the point.

use ringo_runner::Outcome;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

struct Row {
    area: &'static str,
    name: String,
    mode: &'static str,
    seconds: f64,
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
        boot: None,
        figures: BTreeMap::new(),
        passed: true,
    };
    rows().push(row);
}

/// A line for the end.
pub fn note(line: String) {
    NOTES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .push(line)
}

/// Prints the table and the sums.
pub fn summary(took: Duration) {
    let mut out = std::io::stderr().lock();
    let mut rows = rows();
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| (a.area, &a.name).cmp(&(b.area, &b.name)));
    for row in rows.iter() {
        let figures: Vec<String> = row
            .figures
            .iter()
            .map(|(k, v)| format!("{k} {v}"))
            .collect();
        let failed = if row.passed { "" } else { "FAILED  " };
        // Nobody is left to tell that the table cannot be written.
        drop(writeln!(
            out,
            "{:7.2} s  {failed}{}  {}",
            row.seconds,
            row.name,
            figures.join(", ")
        ));
    }
    let mut areas: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
    for row in rows.iter() {
        *areas
            .entry(row.area)
            .or_default()
            .entry(row.mode)
            .or_default() += 1;
    }
    drop(writeln!(out));
    for (area, modes) in areas {
        let of = |row: &&Row| row.area == area;
        let seconds: f64 = rows.iter().filter(of).map(|r| r.seconds).sum();
        let failed = rows.iter().filter(of).filter(|r| !r.passed).count();
        let modes: Vec<String> = modes
            .iter()
            .map(|(mode, n)| format!("{n} {mode}"))
            .collect();
        drop(writeln!(
            out,
            "{area}: {} runs, {failed} failed, {seconds:.1} s ({})",
            rows.iter().filter(of).count(),
            modes.join(", ")
        ));
    }
    for line in NOTES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .iter()
    {
        drop(writeln!(out, "{line}"));
    }
    let machines: f64 = rows.iter().map(|r| r.seconds).sum();
    drop(writeln!(
        out,
        "{} machines ran {machines:.1} s in {:.1} s",
        rows.len(),
        took.as_secs_f64()
    ));
    let mut boots: Vec<Duration> = rows.iter().filter_map(|r| r.boot).collect();
    boots.sort_unstable();
    if let Some(median) = boots.get(boots.len() / 2) {
        drop(writeln!(
            out,
            "QEMU start to main: median {:.3} s of {} boots",
            median.as_secs_f64(),
            boots.len()
        ));
    }
}
