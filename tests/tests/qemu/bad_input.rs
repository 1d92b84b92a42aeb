//! Bad input, by the binary behind `cargo run`: one line that says what would be right, status 1, no backtrace.

use libtest_mimic::Trial;
use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tests::{note, root, run_runner, trial};

use crate::bad_input_table::WRONG;

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

/// What means nothing on the host changes nothing there, whatever it is: one command line serves both machines.
fn of_the_other_machine() -> Result<(), String> {
    let words = "hello --machine host --debug --mem 1G --net user --forward 47080:80 --capture no/x --disk no/x --gdb --board microvm";
    let words: Vec<&str> = words.split(' ').collect();
    let name = "bad input::options of the other machine";
    let run = run_runner("bad input", name, &words, |c| c)?;
    let wanted = "ringo: under --machine host this changes nothing: --mem, --board, --gdb, --disk, --net, --forward, --capture\n";
    if (run.status, run.stderr.as_str()) != (Some(0), wanted) || !run.stdout.contains("hello from")
    {
        let (status, out, err) = (run.status, run.stdout, run.stderr);
        return Err(format!("status {status:?}\nstdout: {out}\nstderr: {err}"));
    }
    Ok(())
}

/// Output that cannot be written is a failure on either machine, one that nobody reads as well, and he knows.
fn output_gone() -> Result<(), String> {
    let full = || Ok(File::options().write(true).open("/dev/full")?.into());
    let closed = || Ok(std::io::pipe()?.1.into());
    type Place = fn() -> std::io::Result<Stdio>;
    let places: [(&str, Place, &str); 2] = [
        (
            "full",
            full,
            "ringo: cannot write the output: No space left",
        ),
        ("closed", closed, ""),
    ];
    for machine in ["qemu", "host"] {
        for (place, to, says) in places {
            let name = format!("bad input::output gone ({place}, {machine})");
            let words: &[&str] = match machine {
                "qemu" => &["hello"],
                _ => &["hello", "--machine", "host"],
            };
            let run = run_runner("bad input", &name, words, |mut c| {
                if let Ok(to) = to() {
                    c.stdout(to);
                }
                c
            })?;
            let (status, err) = (run.status, run.stderr);
            let one = err.starts_with(says) && err.lines().count() == usize::from(!says.is_empty());
            if status != Some(1) || !one {
                return Err(format!("{name}: status {status:?}, stderr: {err}"));
            }
        }
    }
    Ok(())
}

/// Nobody reads the line about what is wrong: the status is the same, and the tool does not fail itself.
fn errors_unread() -> Result<(), String> {
    let name = "bad input::errors unread";
    let run = run_runner("bad input", name, &["helo"], |mut c| {
        if let Ok((_, to)) = std::io::pipe() {
            c.stderr(to);
        }
        c
    })?;
    let status = run.status;
    (status == Some(1))
        .then_some(())
        .ok_or(format!("status {status:?}"))
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
    let more: [(&str, Check); 8] = [
        ("errors unread", errors_unread),
        ("options of the other machine", of_the_other_machine),
        ("output gone", output_gone),
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
