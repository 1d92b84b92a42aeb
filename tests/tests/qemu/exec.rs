//! `cargo run -- exec`, as scripts use it: what programs of ring 3 print, and how the runner ends.

use libtest_mimic::Trial;
use std::io::Write;
use std::process::Stdio;
use tests::{ring3, root, run_runner, runner_command, trial};

/// A name, what is typed behind `exec`, the runner's status, what is printed somewhere.
type Run = (
    &'static str,
    &'static [&'static str],
    i32,
    &'static [&'static str],
);

/// A case that is more than that.
type Check = fn() -> Result<(), String>;

const RUNS: &[Run] = &[
    (
        "arguments",
        &["--smp", "1", "hello", "a b", "--smp", "--", ""],
        0,
        &[
            "hello from process 1, given [\"a b\", \"--smp\", \"--\", \"\"]\n",
            " on CPU 0\n",
        ],
    ),
    (
        "an exit code",
        &["--json", "crash", "badcall"],
        1,
        &["exit status 1", "\"status\":1"],
    ),
    (
        "a panic",
        &["crash", "panic"],
        1,
        &["exit status 101", "panicked at", "crash.rs:"],
    ),
    (
        "a fault, with the function's name",
        &["--smp", "4", "crash", "null"],
        1,
        &[
            "process 1 (crash), thread ",
            ": page fault: read of 0x8, where nothing is mapped, at 0x",
            "read (userspace/programs/src/bin/crash.rs:",
            "exit status 142",
        ],
    ),
    (
        "an option of the runner's behind the name",
        &["crash", "badcall", "--json"],
        1,
        &["--json stands behind the program's name, so the program got it"],
    ),
];

fn run(name: &str, words: &[&str], status: i32, says: &[&str]) -> Result<(), String> {
    let words = [&["exec"], words].concat();
    let run = run_runner("exec", &format!("exec::{name}"), &words, |c| c)?;
    says.iter().try_for_each(|says| run.ended(status, says))
}

/// A program in a file of the user's own takes the place of one with its name.
fn own_file() -> Result<(), String> {
    let folder = root().target().join("exec");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let file = folder.join("hello.rs");
    let text = "#![no_std]\n#![no_main]\nuse rt::prelude::*;\nrt::main!(main);\nfn main() { println!(\"my own, {:?}\", args().next()); exit(7) }\n";
    std::fs::write(&file, text).map_err(|e| e.to_string())?;
    let file = file.display().to_string();
    let says = ["my own, Some(\"x\")", "exit status 7"];
    run("a file", &[&file, "x"], 1, &says)
}

/// A program that is nowhere but in an archive on the disk.
fn from_disk() -> Result<(), String> {
    let disk = ring3::archive("null", "bin/null")?;
    let disk = disk.display().to_string();
    run("from an archive", &["--disk", &disk, "null"], 0, &[])
}

/// All that the library of ring-3 programs has, by a program on a disk: it starts copies of itself from there.
fn library() -> Result<(), String> {
    let disk = ring3::archive("library", "bin/library")?;
    let disk = disk.display().to_string();
    ["1", "2", "4"].iter().try_for_each(|smp| {
        let words = ["--smp", smp, "--disk", &disk, "library"];
        run("library", &words, 0, &["shared memory: ", "time: "])
    })
}

/// What is typed reaches the program.
fn input() -> Result<(), String> {
    let mut child = runner_command(&["exec", "cat"])?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    if let Some(mut to) = child.stdin.take() {
        to.write_all(b"first\nsecond\n")
            .map_err(|e| e.to_string())?;
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let status = output.status.code();
    (status == Some(0) && text.contains("first\nsecond\n"))
        .then_some(())
        .ok_or(format!("status {status:?}, {text:?}"))
}

pub fn trials() -> Vec<Trial> {
    let runs = RUNS.iter().map(|(name, words, status, says)| {
        trial(format!("exec::{name}"), move || {
            run(name, words, *status, says)
        })
    });
    let more: [(&str, Check); 4] = [
        ("a file of the user's own", own_file),
        ("from an archive on the disk", from_disk),
        ("the library", library),
        ("input", input),
    ];
    let more = more.map(|(name, run)| trial(format!("exec::{name}"), run));
    runs.chain(more).collect()
}
