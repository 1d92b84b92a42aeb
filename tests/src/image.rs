//! What the tests boot and run, each built once in a process.

use crate::ring3;
use ringo_runner::{
    BuildOptions, Notice, Root, USER_PROGRAMS, USER_TESTS, build_kernel, build_user,
};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The project.
///
/// # Panics
/// If it is not where it was when this was built.
pub fn root() -> Root {
    Root::find().expect("the project's folder")
}

/// The kernel with all tests in it: optimised, with checks.
///
/// # Errors
/// It does not compile; Cargo has then said why.
pub fn image() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| build("test-image", &[])).clone()
}

/// The same tests as a program of the host, those left out that need the bare machine.
///
/// # Errors
/// As [`image`].
pub fn host_image() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| cargo_build("test-image")).clone()
}

/// Begins to build what most of the tests wait for, beside those that run already. Who then wants it waits for the rest of the time
/// only; if it does not build, he says so.
pub fn build_ahead() {
    // These share what they are made of, and so take turns.
    std::thread::spawn(|| {
        drop((
            image().map(|i| ring3::programs_for(&i)),
            injection(),
            host_image(),
        ))
    });
    std::thread::spawn(|| drop(runner()));
}

/// Those tests that find bugs in it, with bugs to choose from: the argument `bug=N` plants one.
///
/// # Errors
/// As [`image`].
pub fn injection() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT
        .get_or_init(|| build("test-image-injection", &["injection"]))
        .clone()
}

/// A demo, optimised, with checks.
///
/// # Errors
/// As [`image`].
pub fn demo(name: &str) -> Result<PathBuf, String> {
    let options = BuildOptions {
        checks: true,
        ..BuildOptions::default()
    };
    build_kernel(&root(), "demos", name, &options)
        .map_err(|e| format!("the demo {name} does not build: {e}"))
}

/// The kernel with all programs of `tests/differential` in it: optimised, with checks.
///
/// # Errors
/// As [`image`].
pub fn differential() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let options = BuildOptions {
        checks: true,
        ..BuildOptions::default()
    };
    let make = || {
        let _notice = notice("tests/differential", "the machine");
        build_kernel(&root(), "differential", "differential", &options)
            .map_err(|e| format!("the image of tests/differential does not build: {e}"))
    };
    BUILT.get_or_init(make).clone()
}

/// The same programs as a process of the host machine.
///
/// # Errors
/// As [`image`].
pub fn differential_on_host() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| cargo_build("differential")).clone()
}

/// The programs of ring 3: those of `userspace/programs` and those of `tests/ring3`, their names and ELFs.
///
/// # Errors
/// As [`image`].
pub fn ring3_programs() -> Result<Vec<(String, PathBuf)>, String> {
    static BUILT: OnceLock<Result<Vec<(String, PathBuf)>, String>> = OnceLock::new();
    let options = BuildOptions {
        checks: true,
        ..BuildOptions::default()
    };
    let make = || {
        let _notice = notice("the programs of ring 3", "the machine");
        let mut all = Vec::new();
        for package in [USER_PROGRAMS, USER_TESTS] {
            let built = build_user(&root(), package, &options);
            all.extend(built.map_err(|e| format!("{package} does not build: {e}"))?);
        }
        Ok(all)
    };
    BUILT.get_or_init(make).clone()
}

/// Says on stderr what is waited for, if that takes its time: nothing else is seen until the first test has ended.
fn notice(name: &str, place: &str) -> Notice {
    let what = match name {
        "test-image" => "the tests' image",
        other => other,
    };
    Notice::line(format!("building {what} for {place}, which the tests run"))
}

fn build(bin: &str, features: &[&str]) -> Result<PathBuf, String> {
    let _notice = notice(bin, "the machine");
    let options = BuildOptions {
        checks: true,
        features: features.iter().map(ToString::to_string).collect(),
        ..BuildOptions::default()
    };
    build_kernel(&root(), "test-image", bin, &options)
        .map_err(|e| format!("{bin} does not build: {e}"))
}

/// The binary behind `cargo run`.
///
/// # Errors
/// It does not compile.
pub fn runner() -> Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| cargo_build("ringo-runner")).clone()
}

/// The binary of a package, which has the package's name, for the host, as the tests themselves are built: of what it depends on
/// nothing is compiled again, if all of these together decide about features.
fn cargo_build(name: &str) -> Result<PathBuf, String> {
    let _notice = notice(name, "the host");
    let root = root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root.path())
        .args(["build", "--quiet", "-p", "ringo-runner", "-p", "tests"])
        .args(["-p", name, "--bin", name, "--message-format", "json"])
        .env("CARGO_TARGET_DIR", root.target())
        .output()
        .map_err(|e| format!("cannot run cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let executable = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|m| {
            (m["target"]["name"] == name).then(|| m["executable"].as_str().map(PathBuf::from))?
        });
    executable.ok_or_else(|| {
        format!(
            "{name} does not build for the host: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
