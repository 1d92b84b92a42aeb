//! Bad input, by the binary behind `cargo run`: one line that says what would be right, status 1, no backtrace.

use libtest_mimic::Trial;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use tests::{note, root, run_runner, trial};

/// What is typed, and what the line has to hold.
const WRONG: &[(&str, &[&str], &[&str])] = &[
    (
        "unknown program",
        &["helo"],
        &["there is no program \"helo\"", "hello", "list"],
    ),
    (
        "unknown file",
        &["no/such.rs"],
        &["there is no file no/such.rs"],
    ),
    (
        "unknown key",
        &["hello", "--set", "sliec_us=5"],
        &["there is no key \"sliec_us\"", "slice_us"],
    ),
    (
        "unknown value",
        &["hello", "--set", "preempt=often"],
        &["preempt", "async, coop or off"],
    ),
    ("no value", &["hello", "--set", "preempt"], &["preempt"]),
    (
        "value out of range",
        &["hello", "--set", "slice_us=7"],
        &["slice_us", "from 20 to 1000000"],
    ),
    (
        "unknown way to wait",
        &["hello", "--set", "netpoll=epoll"],
        &["netpoll", "park, block or poll"],
    ),
    ("no CPU", &["hello", "--smp", "0"], &["--smp", "1..=64"]),
    (
        "too many CPUs",
        &["hello", "--smp", "65"],
        &["--smp", "1..=64"],
    ),
    (
        "CPUs that are no number",
        &["hello", "--smp", "many"],
        &["--smp"],
    ),
    (
        "more Ps than CPUs",
        &["hello", "--smp", "2", "--procs", "3"],
        &["3", "2", "procs"],
    ),
    (
        "more Ps than CPUs by key",
        &["hello", "--smp", "2", "--set", "procs=3"],
        &["procs=3"],
    ),
    ("no P", &["hello", "--procs", "0"], &["--procs"]),
    (
        "too little memory",
        &["hello", "--mem", "4M"],
        &["mem", "64"],
    ),
    (
        "memory that is no size",
        &["hello", "--mem", "lots"],
        &["mem"],
    ),
    (
        "unknown board",
        &["hello", "--board", "z80"],
        &["--board", "q35, microvm"],
    ),
    ("unknown CPU model", &["hello", "--cpu", "z80"], &["z80"]),
    (
        "a CPU of 32 bits",
        &["hello", "--cpu", "486"],
        &["this CPU model lacks 64-bit mode", "--cpu qemu64"],
    ),
    (
        "a CPU without NX",
        &["hello", "--cpu", "max,-nx"],
        &["or the NX bit", "--cpu qemu64"],
    ),
    (
        "unknown accelerator",
        &["hello", "--accel", "xen"],
        &["--accel", "auto, tcg, kvm"],
    ),
    (
        "unknown machine",
        &["hello", "--machine", "vax"],
        &["--machine", "qemu, host"],
    ),
    (
        "unknown option",
        &["hello", "--frobnicate"],
        &["--frobnicate"],
    ),
    ("time limit", &["hello", "--timeout", "0"], &["--timeout"]),
    (
        "unknown network",
        &["hello", "--net", "bridge"],
        &["--net bridge", "user, stream:PATH", "tap:IF", "none"],
    ),
    (
        "no such interface",
        &["hello", "--net", "tap:ringo-absent"],
        &["no such interface", "ip tuntap add"],
    ),
    (
        "nobody listens",
        &["hello", "--net", "stream:/no/such/socket"],
        &["stream:/no/such/socket", "has to listen"],
    ),
    (
        "forwarded without ports",
        &["hello", "--forward", "80"],
        &["--forward 80", "HOST:GUEST", "8080:80"],
    ),
    (
        "forwarded twice",
        &["hello", "--forward", "8080:80", "--forward", "8080:81"],
        &["port 8080 goes to port 80 already"],
    ),
    (
        "forwarded to nobody",
        &["hello", "--forward", "47080:80"],
        &["--forward", "hello has no network", "--net user"],
    ),
    (
        "forwarded over tap",
        &["hello", "--net", "tap:tap0", "--forward", "47080:80"],
        &["--forward 47080:80 is for --net user", "tap:tap0"],
    ),
    (
        "a capture that cannot be written",
        &["hello", "--net", "user", "--capture", "/no/such/folder/x"],
        &["--capture /no/such/folder/x", "can be written"],
    ),
    (
        "a capture of nothing",
        &["hello", "--capture", "x"],
        &["--capture", "hello has no network"],
    ),
    (
        "a network that repeats itself",
        &["hello", "--net", "user", "--seed", "1"],
        &["--seed", "--net"],
    ),
    (
        "a network on the host",
        &["hello", "--net", "user", "--machine", "host"],
        &["--net is for --machine qemu"],
    ),
];

/// Status 1, words that help, and nothing that looks like a crash of the tool. `one_line`: nothing else either.
fn judge(run: &tests::RunnerOutput, holds: &[&str], one_line: bool) -> Result<(), String> {
    let text = &run.stderr;
    let fail = |why: String| Err(format!("{why}\nstdout: {}\nstderr: {text}", run.stdout));
    if run.status != Some(1) {
        return fail(format!("status {:?}", run.status));
    }
    if let Some(missing) = holds.iter().find(|h| !text.contains(**h)) {
        return fail(format!("nothing about {missing}"));
    }
    if ["RUST_BACKTRACE", "panicked at", "stack backtrace"]
        .iter()
        .any(|w| text.contains(w))
    {
        return fail("a backtrace of the tool".into());
    }
    let lines = text.lines().filter(|l| !l.trim().is_empty()).count();
    if one_line && (lines != 1 || !run.stdout.is_empty()) {
        return fail(format!("{lines} lines"));
    }
    Ok(())
}

/// A case that is more than words and what the answer holds.
type Check = fn() -> Result<(), String>;

fn wrong(name: &str, words: &[&str], holds: &[&str]) -> Result<(), String> {
    let run = run_runner("bad input", &format!("bad input::{name}"), words, |c| c)?;
    judge(&run, holds, true)
}

/// The compiler's own errors, as they are.
fn does_not_compile() -> Result<(), String> {
    let path = scratch(
        "broken.rs",
        "#![no_std]\n#![no_main]\nuse ringo::prelude::*;\nringo::main!(main);\nfn main() { let x: u32 = \"text\"; }\n",
    )?;
    let run = run_runner(
        "bad input",
        "bad input::does not compile",
        &[&path.display().to_string()],
        |c| c,
    )?;
    judge(
        &run,
        &["mismatched types", "broken.rs:5", "expected `u32`"],
        false,
    )
}

/// Wrong forms of `select!`, each of which gets an error that says what would be right.
fn wrong_select() -> Result<(), String> {
    let forms = [
        ("recv(rx) => {}", "what does recv give?"),
        ("send(tx, 1) => {}", "what does send give?"),
        ("send(tx) -> _r => {}", "what is sent?"),
        ("recv(rx, 1) -> _v => {}", "recv takes the channel alone"),
        ("wait(rx) -> _v => {}", "select! knows no arm `wait`"),
        (
            "default => {}, default => {}",
            "room for one `default` only",
        ),
        (
            "recv(rx) -> _v => {}, default(ms) => {}, default => {}",
            "room for one `default` only",
        ),
        ("default() => {}", "or `default(duration) => ...`"),
        (
            "default(ms) -> _v => {}",
            "`default(duration)` gives no value",
        ),
        (
            "recv(rx) -> _v => 1 recv(rx) -> _v => 2",
            "a comma after each",
        ),
        ("default(5) => {}", "expected `Duration`"),
        ("recv(tx) -> _v => {}", "expected `&Receiver<_>`"),
    ];
    let mut text =
        "#![no_std]\n#![no_main]\nuse ringo::prelude::*;\nringo::main!(main);\n".to_string();
    text +=
        "fn main() {\n    let ms = Duration::from_millis(1);\n    let (tx, rx) = chan::<i32>(0);\n";
    let mut all_say = Vec::new();
    // Macros are expanded before types are checked: two files.
    for (i, part) in [&forms[..10], &forms[10..]].into_iter().enumerate() {
        let arms: String = part
            .iter()
            .map(|(form, _)| format!("    select! {{ {form} }}\n"))
            .collect();
        let path = scratch(
            &format!("wrong_select_{i}.rs"),
            &format!("{text}{arms}}}\n"),
        )?;
        let run = run_runner(
            "bad input",
            &format!("bad input::wrong select {i}"),
            &[&path.display().to_string()],
            |c| c,
        )?;
        let says: Vec<&str> = part.iter().map(|(_, says)| *says).collect();
        all_say.push(judge(&run, &says, false));
    }
    all_say.into_iter().collect()
}

/// Somebody listens there already.
fn taken_port() -> Result<(), String> {
    let holder = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    let port = holder.local_addr().map_err(|e| e.to_string())?.port();
    let words = ["hello", "--net", "user", "--forward", &format!("{port}:80")];
    let run = run_runner("bad input", "bad input::taken port", &words, |c| c)?;
    let taken = format!("port {port} of this system is taken");
    judge(&run, &[&taken, "take another, such as --forward"], true)
}

fn no_main() -> Result<(), String> {
    let path = scratch(
        "mainless.rs",
        "#![no_std]\n#![no_main]\nuse ringo::prelude::*;\n",
    )?;
    let run = run_runner(
        "bad input",
        "bad input::no main",
        &[&path.display().to_string()],
        |c| c,
    )?;
    judge(
        &run,
        &["mainless.rs lacks main!", "ringo::main!(main)"],
        true,
    )
}

/// A file of this run's own.
fn scratch(name: &str, content: &str) -> Result<PathBuf, String> {
    let folder = root().target().join("bad_input");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let path = folder.join(name);
    std::fs::write(&path, content).map_err(|e| e.to_string())?;
    Ok(path)
}

fn places_of(program: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin"].map(PathBuf::from);
    let mut all: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(system)
        .map(|dir| dir.join(program))
        .collect();
    all.retain(|file| file.is_file());
    all.iter_mut()
        .for_each(|file| *file = file.canonicalize().unwrap_or_else(|_| file.clone()));
    all.sort();
    all.dedup();
    all
}

/// A system without QEMU and without apt-get: in a mount namespace of its own both are covered by an empty file.
fn no_qemu() -> Result<(), String> {
    let covered: Vec<PathBuf> = ["qemu-system-x86_64", "apt-get"]
        .iter()
        .flat_map(|p| places_of(p))
        .collect();
    let unshare = || {
        let mut c = Command::new("unshare");
        c.args(["--mount", "--map-root-user"]);
        c
    };
    let cover: String = covered
        .iter()
        .map(|p| format!("mount --bind /dev/null '{}' && ", p.display()))
        .collect();
    let works = unshare()
        .args(["sh", "-c", &format!("{cover}true")])
        .output();
    if !works.is_ok_and(|o| o.status.success()) {
        note("bad input::no QEMU was not run: this system lets nobody mount, not even in a namespace".into());
        return Ok(());
    }
    let within = |c: Command| {
        let mut outer = unshare();
        outer
            .args(["sh", "-c", &format!("{cover}exec \"$0\" \"$@\"")])
            .arg(c.get_program())
            .args(c.get_args());
        outer
    };
    let run = run_runner("bad input", "bad input::no QEMU", &["hello"], within)?;
    judge(&run, &["qemu-system-x86_64 is missing", "install it"], true)
}

pub fn trials() -> Vec<Trial> {
    let mut all: Vec<Trial> = WRONG
        .iter()
        .map(|(name, words, holds)| {
            trial(format!("bad input::{name}"), move || {
                wrong(name, words, holds)
            })
        })
        .collect();
    let more: [(&str, Check); 5] = [
        ("a forwarded port that is taken", taken_port),
        ("wrong select", wrong_select),
        ("does not compile", does_not_compile),
        ("no main", no_main),
        ("no QEMU", no_qemu),
    ];
    for (name, run) in more {
        all.push(trial(format!("bad input::{name}"), run));
    }
    all
}
