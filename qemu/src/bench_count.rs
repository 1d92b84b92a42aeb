//! `cargo run -- bench --count`: instructions of an operation, by a machine whose clock counts them; the same on every host, so
//! that a change in the code shows, and no other.

use std::path::Path;

use bench_names::{Group, NAMES, Name};
use serde_json::json;
use toml::Table;

use crate::bench::{BenchArgs, Boot, counts_file};
use crate::bench_table::Row;
use crate::failure::Doing;
use crate::say::{print, say};
use crate::{Failure, Result, Root};

/// Counts are multiplied by this: what an operation costs does not depend on how many there are, or little.
pub const SCALE: f64 = 0.05;
/// A change above this is named.
const ALLOWED: f64 = 0.03;
/// Any will do.
pub const SEED: u64 = 1;
/// How what has changed on purpose is recorded.
const RECORD: &str = "cargo run -- bench --count --record";

/// First lines of the file.
const HEAD: &str = "\
# Instructions of an operation, on one CPU, counted by QEMU (-icount shift=0,sleep=off) and written by
# `cargo run -- bench --count --record`. CI counts again: a change of more than 3 % has to be recorded with the commit that makes it.
# Counts of whole runs (fork-join, skew, sieve, skynet) are of smaller runs than those that are timed.
";

/// Whether it has a count. How late something is and how much memory it takes is none.
pub fn has_count(name: &Name) -> bool {
    name.name != "bare_timer" && !matches!(name.group, Group::Lat | Group::Mem)
}

/// What was counted for a name.
#[derive(Clone, Debug, PartialEq)]
struct Count {
    label: String,
    instructions: f64,
    recorded: Option<f64>,
}

impl Count {
    /// By how much it has changed since it was recorded.
    fn change(&self) -> Option<f64> {
        Some(self.instructions / self.recorded? - 1.0)
    }

    /// What is wrong with it.
    fn finding(&self) -> Option<String> {
        let (label, seen) = (&self.label, self.instructions);
        match (self.recorded, self.change()) {
            (Some(recorded), Some(change)) if change.abs() > ALLOWED => {
                let percent = change * 100.0;
                Some(format!(
                    "{label}: {seen:.1} instructions an operation, recorded are {recorded:.1} ({percent:+.1} %)"
                ))
            }
            (Some(_), _) => None,
            (None, _) => Some(format!(
                "{label}: {seen:.1} instructions an operation, none are recorded"
            )),
        }
    }
}

/// Counts, shows, and compares with what is recorded; the exit status.
///
/// # Errors
/// Options that do not go together, no name that has a count, or what a boot may fail with.
pub fn count(args: &BenchArgs, names: &[&'static Name]) -> Result<u8> {
    let names: Vec<&Name> = names
        .iter()
        .copied()
        .filter(|name| has_count(name))
        .collect();
    if names.is_empty() {
        return Err(Failure::new(
            "none of these has a count of instructions: they measure lateness or memory",
        ));
    }
    if args.smp.is_some_and(|smp| smp != 1) {
        return Err(Failure::new(
            "--count counts on one CPU, for which a count repeats itself; leave --smp away",
        ));
    }
    let root = Root::find()?;
    let file = counts_file(root.path());
    let recorded = read(&file)?;
    let mut boot = Boot::new(args, &root, 1)?;
    boot.names = names;
    boot.scale = args.scale.unwrap_or(SCALE);
    boot.seed = Some(SEED);
    let (first, second) = (boot.run()?, boot.run()?);
    if let Some(bad) = [&first, &second]
        .into_iter()
        .find(|boot| boot.outcome.exit != 0)
    {
        return Ok(bad.failed());
    }
    // Others count something else.
    let is_comparable = boot.scale == SCALE;
    let counts: Vec<Count> = counts(&first.rows, if is_comparable { &recorded } else { &[] });
    print(&if args.json {
        json_lines(&counts)
    } else {
        table(&counts)
    })?;
    if let Some(line) = differences(&first.rows, &second.rows) {
        say(line)
    } else {
        say("two boots agree to the instruction")
    }
    if args.record {
        return write(&file, recorded, &counts, is_comparable).map(|()| 0);
    }
    let findings: Vec<String> = counts.iter().filter_map(Count::finding).collect();
    if !is_comparable || findings.is_empty() {
        return Ok(0);
    }
    findings.iter().for_each(say);
    Err(Failure::new(format!("if that is meant: `{RECORD}`")))
}

/// What was counted, beside what is recorded.
fn counts(rows: &[Row], recorded: &[(String, f64)]) -> Vec<Count> {
    let of = |row: &Row| {
        let label = row.label();
        let known = recorded.iter().find(|(name, _)| *name == label);
        Some(Count {
            instructions: row.number("med")?,
            recorded: known.map(|(_, count)| *count),
            label,
        })
    };
    rows.iter().filter_map(of).collect()
}

/// Where the two boots differ, if they do.
fn differences(first: &[Row], second: &[Row]) -> Option<String> {
    let differ = |(a, b): &(&Row, &Row)| a.0 != b.0;
    let all: Vec<String> = first
        .iter()
        .zip(second)
        .filter(differ)
        .filter_map(|(a, b)| {
            let (a_count, b_count) = (a.number("med")?, b.number("med")?);
            Some(format!("{} {a_count} and {b_count}", a.label()))
        })
        .collect();
    let same = first.len() == second.len() && all.is_empty();
    (!same).then(|| format!("two boots of the same machine differ: {}", all.join(", ")))
}

fn table(counts: &[Count]) -> String {
    let mut text = format!(
        "{:<24} {:>14} {:>14} {:>8}\n",
        "benchmark", "instructions", "recorded", "change"
    );
    for count in counts {
        let recorded = count
            .recorded
            .map_or("-".to_string(), |n| format!("{n:.1}"));
        let change = count
            .change()
            .map_or("-".to_string(), |x| format!("{:+.1} %", x * 100.0));
        text += &format!(
            "{:<24} {:>14.1} {recorded:>14} {change:>8}\n",
            count.label, count.instructions
        );
    }
    text
}

fn json_lines(counts: &[Count]) -> String {
    let line = |count: &Count| {
        let line = json!({
            "bench": count.label, "env": "ringo-qemu-icount-smp1", "unit": "instructions/op", "instructions": count.instructions,
            "recorded": count.recorded, "change": count.change(),
        });
        format!("{line}\n")
    };
    counts.iter().map(line).collect()
}

/// What is recorded; nothing where there is no such file yet.
fn read(file: &Path) -> Result<Vec<(String, f64)>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(file).doing(format_args!("read {}", file.display()))?;
    parse(&text).doing(format_args!("read {}", file.display()))
}

fn parse(text: &str) -> std::result::Result<Vec<(String, f64)>, String> {
    let table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.message().to_string())?;
    let number = |(name, value): (String, toml::Value)| {
        let number = value.as_float().or(value.as_integer().map(|n| n as f64));
        let good = number
            .filter(|n| *n > 0.0)
            .ok_or(format!("{name} is no number above 0"))?;
        Ok((name, good))
    };
    table.into_iter().map(number).collect()
}

/// Those that were counted take the place of what was recorded of them.
fn write(
    file: &Path,
    recorded: Vec<(String, f64)>,
    counts: &[Count],
    is_comparable: bool,
) -> Result<()> {
    if !is_comparable {
        return Err(Failure::new(format!(
            "--record records what is counted with --scale {SCALE}, its default"
        )));
    }
    let mut all: Vec<(String, f64)> = counts
        .iter()
        .map(|count| (count.label.clone(), count.instructions))
        .collect();
    let is_new = |(name, _): &(String, f64)| counts.iter().all(|count| count.label != *name);
    all.extend(recorded.into_iter().filter(is_new));
    std::fs::write(file, text_of(all)).doing(format_args!("write {}", file.display()))?;
    say(format_args!("recorded in {}", file.display()));
    Ok(())
}

/// In the order of the names; what is no benchmark any more is left out.
fn text_of(mut all: Vec<(String, f64)>) -> String {
    let place = |label: &str| {
        NAMES
            .iter()
            .position(|name| label.split(' ').next() == Some(name.name))
    };
    all.retain(|(label, _)| place(label).is_some());
    all.sort_by(|(a, _), (b, _)| (place(a), a).cmp(&(place(b), b)));
    let line = |(label, count): &(String, f64)| {
        let quoted = if label.contains(' ') {
            format!("{label:?}")
        } else {
            label.clone()
        };
        format!("{quoted} = {count:.2}\n")
    };
    format!("{HEAD}{}", all.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(bench: &str, med: f64) -> Row {
        Row(json!({"bench": bench, "med": med, "params": {"n": 27}}))
    }

    #[test]
    fn what_has_changed_is_named() {
        let recorded = [
            ("yield2".to_string(), 100.0),
            ("ring503".to_string(), 200.0),
        ];
        let counted = |yields| counts(&[row("yield2", yields), row("ring503", 205.0)], &recorded);
        let findings = |yields| {
            counted(yields)
                .iter()
                .filter_map(Count::finding)
                .collect::<Vec<_>>()
        };
        assert_eq!(findings(102.9), [""; 0]);
        assert_eq!(findings(97.1), [""; 0]);
        let more = "yield2: 104.0 instructions an operation, recorded are 100.0 (+4.0 %)";
        assert_eq!(findings(104.0), [more]);
        let less = "yield2: 96.0 instructions an operation, recorded are 100.0 (-4.0 %)";
        assert_eq!(findings(96.0), [less]);
        let new = counts(&[row("skynet", 7.0)], &recorded);
        let none = "skynet: 7.0 instructions an operation, none are recorded";
        assert_eq!(new[0].finding().as_deref(), Some(none));
        assert!(table(&counted(104.0)).contains("+4.0 %"));
        for line in json_lines(&counted(104.0)).lines() {
            assert!(
                serde_json::from_str::<serde_json::Value>(line)
                    .is_ok_and(|v| v["instructions"].is_f64())
            );
        }
    }

    #[test]
    fn boots_that_differ() {
        let first = [row("yield2", 100.0), row("ring503", 1.0)];
        assert_eq!(differences(&first, &first), None);
        let second = [row("yield2", 100.5), row("ring503", 1.0)];
        let line = differences(&first, &second).unwrap();
        assert_eq!(
            line,
            "two boots of the same machine differ: yield2 100 and 100.5"
        );
        assert!(differences(&first, &first[..1]).is_some());
    }

    #[test]
    fn the_file() {
        let all = [
            ("ring503", 2.0),
            ("fib_serial n=27", 3.06),
            ("gone", 4.0),
            ("yield2", 1.0),
        ];
        let text = text_of(all.map(|(name, count)| (name.to_string(), count)).into());
        assert!(
            text.ends_with("\nyield2 = 1.00\nring503 = 2.00\n\"fib_serial n=27\" = 3.06\n"),
            "{text}"
        );
        let back = parse(&text).unwrap();
        assert_eq!(back.len(), 3);
        assert!(back.contains(&("fib_serial n=27".to_string(), 3.06)));
        assert!(
            parse("yield2 = \"x\"")
                .unwrap_err()
                .contains("yield2 is no number")
        );
        assert!(parse("yield2 = -1").is_err() && parse("=").is_err());
    }

    /// A benchmark that is added, or renamed, has a count recorded with it.
    #[test]
    fn every_benchmark_that_has_a_count_is_recorded() {
        let root = Root::find().unwrap();
        let recorded = read(&counts_file(root.path())).unwrap();
        for name in NAMES.iter().filter(|name| has_count(name)) {
            let is_it = |(label, _): &(String, f64)| label.split(' ').next() == Some(name.name);
            assert!(
                recorded.iter().any(is_it),
                "{} is not recorded: `{RECORD}`",
                name.name
            );
        }
    }
}
