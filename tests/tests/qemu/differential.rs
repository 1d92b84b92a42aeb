//! The programs of `tests/differential`: what each NAME.rs prints here, NAME.go prints under Go (NAME.out, see `regenerate`).
//!
//! One kernel holds all; a boot runs many. A program whose Go imports "time" runs with `clock=virtual`, as its output was made
//! with Go's `faketime`: how busy this machine is does not matter then.

use libtest_mimic::Trial;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tests::{
    Case, DEFAULT, HostMachine, NO_NET, Outcome, differential, differential_on_host, root, trial,
};

/// Programs that do without a clock, and those that need one.
const GROUPS: &[(&str, bool, &[&str])] =
    &[("plain", false, &[]), ("timed", true, &["clock=virtual"])];

fn folder() -> PathBuf {
    root().path().join("tests/differential")
}

fn read(name: &str, extension: &str) -> Result<String, String> {
    let file = folder().join(format!("{name}.{extension}"));
    fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))
}

/// Names of the files that end so.
fn names(extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).expect("tests/differential");
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let wanted = paths.filter(|path| path.extension().is_some_and(|e| e == extension));
    let stem = |path: PathBuf| path.file_stem().map(|s| s.to_string_lossy().into_owned());
    wanted.filter_map(stem).collect()
}

fn group(timed: bool) -> Vec<String> {
    let is_timed = |name: &String| read(name, "go").is_ok_and(|go| go.contains("\"time\""));
    names("rs")
        .into_iter()
        .filter(|name| is_timed(name) == timed)
        .collect()
}

/// What stands between the lines with which the image marks a program, and the second of these lines.
fn outputs(stdout: &str) -> BTreeMap<String, (Vec<&str>, &str)> {
    let mut all = BTreeMap::new();
    let mut lines = stdout.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("### ") else {
            continue;
        };
        let (mut printed, mut end) = (Vec::new(), "");
        for line in lines.by_ref() {
            if line.starts_with("### ") {
                end = line;
                break;
            }
            printed.push(line);
        }
        all.insert(name.to_string(), (printed, end));
    }
    all
}

/// Each of `wanted` printed what Go prints, ended well, and left no goroutine behind.
fn compare(wanted: &[String], outcome: &Outcome) -> Result<(), String> {
    let outputs = outputs(&outcome.stdout);
    let mut wrong = Vec::new();
    for name in wanted {
        let go = read(name, "out")?;
        let Some((printed, end)) = outputs.get(name) else {
            wrong.push(format!("{name} did not run"));
            continue;
        };
        if *end != format!("### {name} ends: status 0, goroutines 1") {
            wrong.push(format!("{name}: its end is {end:?}"));
        }
        if !go.lines().eq(printed.iter().copied()) {
            let printed = printed.join("\n");
            wrong.push(format!("{name} printed\n{printed}\nand Go\n{go}"));
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, timed, words) in GROUPS {
        for (smp, mode) in [(1, DEFAULT), (4, DEFAULT), (2, NO_NET)] {
            let (programs, wanted) = (group(*timed), group(*timed));
            let case = Case::new("differential", name)
                .smp(smp)
                .mode(mode)
                .kernel(differential)
                .machine(move |machine| machine.args = programs.clone())
                .judge(move |outcome| compare(&wanted, outcome));
            all.push(words.iter().fold(case, |case, word| case.word(word)));
        }
    }
    all
}

fn on_host(args: Vec<String>, words: &[&str]) -> Result<Outcome, String> {
    let mut machine = HostMachine::new(differential_on_host()?, "differential");
    machine.args = args;
    machine.words = words.iter().map(ToString::to_string).collect();
    machine.timeout = Some(Duration::from_secs(150) * tests::patience() as u32);
    let outcome = machine.run().map_err(|e| e.to_string())?;
    match outcome.exit {
        0 => Ok(outcome),
        status => Err(format!(
            "status {status}\n{}\n{}",
            outcome.stdout, outcome.stderr
        )),
    }
}

/// Each program is there in both languages, with its output, and in the image.
fn complete() -> Result<(), String> {
    let rust = names("rs");
    for (what, there) in [("Go", names("go")), ("output", names("out"))] {
        let odd: Vec<_> = rust.symmetric_difference(&there).collect();
        if !odd.is_empty() {
            return Err(format!("in Rust or as {what}, but not both: {odd:?}"));
        }
    }
    let listed = on_host(vec!["list".into()], &[])?.stdout;
    let odd: Vec<_> = rust
        .symmetric_difference(&listed.lines().map(Into::into).collect())
        .cloned()
        .collect();
    if !odd.is_empty() {
        return Err(format!(
            "a file, or in image/src/main.rs, but not both: {odd:?}"
        ));
    }
    match rust.len() {
        30.. => Ok(()),
        n => Err(format!("{n} programs are not thirty")),
    }
}

pub fn trials() -> Vec<Trial> {
    let mut all = vec![trial("differential::complete", complete)];
    for (name, timed, words) in GROUPS {
        all.push(trial(
            format!("differential::{name} on the host machine"),
            move || {
                let wanted = group(*timed);
                compare(&wanted, &on_host(wanted.clone(), words)?)
            },
        ));
    }
    all
}
