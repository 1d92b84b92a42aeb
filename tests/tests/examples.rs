//! Each public item of the crates that programs use has an example in its documentation; `cargo test --doc` runs them.
//!
//! Read line by line, which is enough for code that rustfmt has formatted: a `pub` item, and above it its attributes and its
//! documentation, in which a code block that Rust's tool compiles must be.

use std::fs;
use std::path::{Path, PathBuf};

const CRATES: &[&str] = &["kernel/csp/src", "kernel/ringo/src"];

/// Functions of the scheduler that the prelude hands on.
const FROM_SCHED: &[&str] = &[
    "blocking",
    "checkpoint",
    "lock_to_cpu",
    "num_cpu",
    "num_goroutine",
    "set_gomaxprocs",
    "unlock_from_cpu",
    "yield_now",
];

/// Files whose public items programs do not name, and why they are public all the same.
const NOT_FOR_PROGRAMS: &[(&str, &str)] = &[
    ("kernel/csp/src/chan/select.rs", "what `select!` expands to"),
    (
        "kernel/csp/src/chan/select/cases.rs",
        "what `select!` expands to",
    ),
    (
        "kernel/csp/src/waitq.rs",
        "what the waits of ring 3's threads are made of",
    ),
    ("kernel/ringo/src/start/host.rs", "what `main!` expands to"),
];

/// An item's kind and name, if the line begins one that is public.
fn public_item(line: &str, exported: bool) -> Option<&str> {
    let line = line.trim_start();
    if exported && line.starts_with("macro_rules! ") {
        return Some(line.trim_end_matches([' ', '{']));
    }
    let mut rest = line.strip_prefix("pub ")?;
    loop {
        let modifiers = ["const fn ", "unsafe fn "].map(|two| rest.starts_with(two));
        match modifiers.contains(&true) {
            true => rest = rest.split_once(' ')?.1,
            false => break,
        }
    }
    let (kind, name) = rest.split_once(' ')?;
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    let end = name
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    kinds.contains(&kind).then(|| &rest[..kind.len() + 1 + end])
}

/// Whether the first line of a code block says that it is compiled.
fn is_example(words: &str) -> bool {
    words.is_empty() || ["no_run", "compile_fail", "should_panic"].contains(&words)
}

/// Public items of a source without an example.
fn without_example(source: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut example, mut exported, mut hidden) = (false, false, false);
    let mut in_block = false;
    for (i, line) in source.lines().enumerate() {
        let text = line.trim_start();
        if text.starts_with("mod tests {") {
            break;
        }
        if let Some(doc) = text.strip_prefix("///") {
            if let Some(words) = doc.trim().strip_prefix("```") {
                example |= !in_block && is_example(words);
                in_block = !in_block;
            }
        } else if text.starts_with("#[") {
            exported |= text.contains("macro_export");
            hidden |= text.contains("doc(hidden)");
        } else {
            let item = public_item(line, exported).filter(|_| !example && !hidden);
            found.extend(item.map(|name| (i + 1, name)));
            (example, exported, hidden) = (false, false, false);
        }
    }
    found
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a crate's sources") {
        let path = entry.expect("an entry of the folder").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            sources(&path, all);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            all.push(path);
        }
    }
}

#[test]
fn every_public_item_has_an_example() {
    let root = tests::root();
    let mut all = Vec::new();
    CRATES
        .iter()
        .for_each(|folder| sources(&root.path().join(folder), &mut all));
    assert!(all.len() > 40, "only {} sources are there", all.len());
    let mut missing = Vec::new();
    let mut excused = 0;
    for path in &all {
        let file = path
            .strip_prefix(root.path())
            .expect("below the root")
            .display()
            .to_string();
        let source = fs::read_to_string(path).expect("a source");
        let found = without_example(&source);
        if NOT_FOR_PROGRAMS.iter().any(|(name, _)| *name == file) {
            excused += usize::from(!found.is_empty());
            continue;
        }
        missing.extend(
            found
                .iter()
                .map(|(line, item)| format!("{file}:{line}: {item}")),
        );
    }
    assert_eq!(
        excused,
        NOT_FOR_PROGRAMS.len(),
        "an exception is not needed any more"
    );
    assert!(
        missing.is_empty(),
        "no example in the documentation of\n  {}",
        missing.join("\n  ")
    );
}

#[test]
fn what_the_prelude_takes_from_the_scheduler_has_an_example() {
    let root = tests::root();
    let prelude =
        fs::read_to_string(root.path().join("kernel/ringo/src/prelude.rs")).expect("the prelude");
    let mut all = Vec::new();
    sources(&root.path().join("kernel/sched/src"), &mut all);
    let mut there = 0;
    for path in &all {
        let source = fs::read_to_string(path).expect("a source");
        let is_wanted = |line: &str| {
            let name = line
                .strip_prefix("pub fn ")
                .and_then(|rest| rest.split(['(', '<']).next());
            name.is_some_and(|name| FROM_SCHED.contains(&name))
        };
        there += source.lines().filter(|line| is_wanted(line)).count();
        for (line, item) in without_example(&source) {
            let wanted = source.lines().nth(line - 1).is_some_and(is_wanted);
            assert!(!wanted, "{}:{line}: {item} has no example", path.display());
        }
    }
    assert_eq!(
        there,
        FROM_SCHED.len(),
        "functions of the scheduler that were found"
    );
    let unused = FROM_SCHED.iter().find(|name| !prelude.contains(*name));
    assert_eq!(unused, None, "not in the prelude any more");
}

#[test]
fn what_counts_as_an_item_and_as_an_example() {
    let source = "/// A\n/// ```\n/// x\n/// ```\npub fn a() {}\n/// B\npub const fn b() {}\npub(crate) fn c() {}\n\
                  /// ```text\n/// ```\npub struct D<T>;\n#[macro_export]\nmacro_rules! e {\n/// F\n#[doc(hidden)]\npub fn f() {}\n\
                  /// ```no_run\n/// ```\n#[inline]\npub const unsafe fn g() {}\nmod tests {\npub fn h() {}\n";
    let found: Vec<&str> = without_example(source)
        .into_iter()
        .map(|(_, item)| item)
        .collect();
    assert_eq!(found, ["fn b", "struct D", "macro_rules! e"]);
}
