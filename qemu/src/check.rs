//! `cargo run -- check`: formatting, lints and documentation of all builds, and scans of each final ELF.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::builder::{self, BuildOptions, TARGET, kernel_rustflags, plain_cargo};
use crate::failure::Doing;
use crate::program::Program;
use crate::progress::Progress;
use crate::user_build::{USER_PROGRAMS, USER_TESTS, build_user, user_rustflags};
use crate::{Result, Root, bench, elf_scan, exec, program, say};

/// Packages that no kernel has: the host's, and those of ring 3.
const NOT_OF_KERNELS: &[&str] = &[
    "ringo-runner",
    "tests",
    "peer",
    "rt",
    USER_PROGRAMS,
    USER_TESTS,
];
/// Packages of ring-3 programs.
const USER_PACKAGES: &[&str] = &[USER_PROGRAMS, USER_TESTS];
/// Packages of ring 3.
const OF_RING_3: &[&str] = &["abi", "rt", USER_PROGRAMS, USER_TESTS];

/// Runs all checks, or only the scans of the programs named; exit status 1 if one failed.
pub fn check(only_elfs: &[String]) -> Result<u8> {
    let root = Root::find()?;
    let mut good = true;
    if only_elfs.is_empty() {
        for (name, command) in commands(&root) {
            good &= cargo_step(name, command)?;
        }
        for (package, name) in images(&root)? {
            let build = |options: &BuildOptions| {
                // As it is measured.
                let measured = package == bench::IMAGE;
                let options = BuildOptions {
                    measured,
                    ..options.clone()
                };
                builder::build_kernel(&root, package, &name, &options)
            };
            good &= elf_step(&name, build)?;
        }
        for package in USER_PACKAGES {
            good &= user_step(&root, package)?;
        }
    }
    let cwd = std::env::current_dir().doing("find the current folder")?;
    for wanted in only_elfs {
        let program = Program::find(&root, &cwd, wanted)?;
        let build = |options: &_| builder::build_program(&root, &program, false, options);
        good &= elf_step(program.name(), build)?;
    }
    Ok(u8::from(!good))
}

/// Every program, the benchmarks, and the image that holds the tests.
fn images(root: &Root) -> Result<Vec<(&'static str, String)>> {
    let mut images: Vec<_> = program::names(root)?
        .into_iter()
        .chain([exec::PROGRAM.to_string()])
        .map(|name| ("demos", name))
        .chain([(bench::IMAGE, bench::IMAGE.to_string())])
        .collect();
    if root.path().join("tests/image/Cargo.toml").is_file() {
        images.push(("test-image", "test-image".to_string()));
    }
    Ok(images)
}

fn commands(root: &Root) -> Vec<(&'static str, Command)> {
    let quiet = ["--quiet"];
    let mut fmt = plain_cargo(root);
    fmt.args(["fmt", "--all", "--check"]);

    let mut clippy = plain_cargo(root);
    clippy
        .arg("clippy")
        .args(quiet)
        .args(["--workspace", "--all-targets", "--target-dir"])
        .arg(root.target());
    clippy.args(["--", "-D", "warnings"]);

    let mut doc = plain_cargo(root);
    doc.arg("doc")
        .args(quiet)
        .args(["--workspace", "--no-deps", "--target-dir"])
        .arg(root.target());
    // Some of its programs have names that demos have; they are documented as what they are below.
    doc.args(["--exclude", USER_PROGRAMS]);
    doc.env("RUSTDOCFLAGS", "-D warnings");

    let mut kernel_clippy = for_kernel(root, "clippy");
    kernel_clippy.args(["--", "-D", "warnings"]);
    let mut user_clippy = for_ring_3(root, "clippy");
    user_clippy.args(["--", "-D", "warnings"]);

    vec![
        ("formatting", fmt),
        ("lints, host", clippy),
        ("lints, kernel", kernel_clippy),
        ("lints, ring 3", user_clippy),
        ("documentation, host", doc),
        (
            "documentation, kernel",
            docs_of(for_kernel(root, "doc"), "ringo_kernel"),
        ),
        (
            "documentation, ring 3",
            docs_of(for_ring_3(root, "doc"), "ringo_user"),
        ),
    ]
}

fn docs_of(mut cargo: Command, cfg: &str) -> Command {
    cargo.arg("--no-deps");
    let flags = ["--cfg", cfg, "-D", "warnings"].join("\x1f");
    cargo.env("CARGO_ENCODED_RUSTDOCFLAGS", flags);
    cargo
}

/// A command on all packages of the kernel, with the kernel's flags, and with the bugs that tests plant: what stands in their place
/// otherwise, the host's lints see.
fn for_kernel(root: &Root, command: &str) -> Command {
    let flags = kernel_rustflags(root.path());
    let mut cargo = bare(root, command, &flags, &root.kernel_target());
    cargo.args(["--workspace", "--features", "test-image/injection"]);
    for package in NOT_OF_KERNELS {
        cargo.args(["--exclude", package]);
    }
    cargo
}

/// A command on all packages of ring 3, with their flags.
fn for_ring_3(root: &Root, command: &str) -> Command {
    let flags = user_rustflags(root.path());
    let mut cargo = bare(root, command, &flags, &root.user_target());
    for package in OF_RING_3 {
        cargo.args(["-p", package]);
    }
    cargo
}

fn bare(root: &Root, command: &str, flags: &[String], target: &Path) -> Command {
    let mut cargo = plain_cargo(root);
    cargo.args([command, "--quiet", "--profile", "kernel"]);
    cargo.args(["--target", TARGET, "--target-dir"]).arg(target);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    cargo
}

fn cargo_step(name: &str, mut command: Command) -> Result<bool> {
    let progress = Progress::start(true, name);
    let started = Instant::now();
    let colour = if std::io::stderr().is_terminal() {
        "always"
    } else {
        "never"
    };
    let output = command
        .env("CARGO_TERM_COLOR", colour)
        .output()
        .doing("run cargo")?;
    progress.clear();
    tell(
        name,
        output.status.success(),
        &format!("{:.1} s", started.elapsed().as_secs_f64()),
    );
    if !output.status.success() {
        let mut err = std::io::stderr().lock();
        drop(
            err.write_all(&output.stdout)
                .and_then(|()| err.write_all(&output.stderr)),
        );
    }
    Ok(output.status.success())
}

fn elf_step(name: &str, build: impl Fn(&BuildOptions) -> Result<PathBuf>) -> Result<bool> {
    let title = format!("ELF of {name}");
    let Some(elf) = built(&title, build)? else {
        return Ok(false);
    };
    let scan = elf_scan::scan(&elf)?;
    let about = format!(
        "{} functions; {} stores below the stack pointer in precompiled ones, none elsewhere",
        scan.functions, scan.allowed_red_zone_stores
    );
    let good = scan.findings.is_empty();
    tell(&title, good, if good { &about } else { "" });
    list(&elf, &scan.findings);
    Ok(good)
}

/// The ELFs of all programs of a package of ring 3.
fn user_step(root: &Root, package: &str) -> Result<bool> {
    let title = format!("ELFs of {package}");
    let Some(elfs) = built(&title, |options| build_user(root, package, options))? else {
        return Ok(false);
    };
    let mut bad = Vec::new();
    for (_, elf) in &elfs {
        bad.extend(Some((elf, elf_scan::scan_user(elf)?)).filter(|(_, found)| !found.is_empty()));
    }
    let about = format!("{} programs of ring 3", elfs.len());
    tell(
        &title,
        bad.is_empty(),
        if bad.is_empty() { &about } else { "" },
    );
    bad.iter().for_each(|(elf, findings)| list(elf, findings));
    Ok(bad.is_empty())
}

/// What has been built. `None`: it does not compile, which has been said.
fn built<T>(title: &str, build: impl Fn(&BuildOptions) -> Result<T>) -> Result<Option<T>> {
    let options = BuildOptions {
        progress: true,
        ..BuildOptions::default()
    };
    match build(&options) {
        Ok(built) => Ok(Some(built)),
        Err(failure) if failure.line.is_empty() => {
            tell(title, false, "does not build");
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

fn list(elf: &Path, findings: &[String]) {
    for finding in findings {
        say::to_stderr(&format!("  {}: {finding}\n", elf.display()));
    }
}

fn tell(title: &str, good: bool, about: &str) {
    let line = format!(
        "{:6} {title:24} {about}",
        if good { "ok" } else { "FAILED" }
    );
    drop(writeln!(std::io::stdout().lock(), "{}", line.trim_end()));
}
