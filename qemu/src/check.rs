//! `cargo run -- check`: formatting, lints and documentation of both builds, and scans of each final ELF.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::builder::{self, BuildOptions, TARGET, kernel_rustflags, plain_cargo};
use crate::failure::Doing;
use crate::program::Program;
use crate::progress::Progress;
use crate::{Result, Root, elf_scan, program, say};

/// Packages that only exist on the host.
const HOST_ONLY: &[&str] = &["ringo-runner", "tests", "peer"];

/// Runs all checks, or only the scans of the programs named; exit status 1 if one failed.
pub fn check(only_elfs: &[String]) -> Result<u8> {
    let root = Root::find()?;
    let mut good = true;
    if only_elfs.is_empty() {
        for (name, command) in commands(&root) {
            good &= cargo_step(name, command)?;
        }
        for (package, name) in images(&root)? {
            let build = |options: &_| builder::build_kernel(&root, package, &name, options);
            good &= elf_step(&name, build)?;
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

/// Every program, and the image that holds the tests.
fn images(root: &Root) -> Result<Vec<(&'static str, String)>> {
    let mut images: Vec<_> = program::names(root)?
        .into_iter()
        .map(|name| ("demos", name))
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
    doc.env("RUSTDOCFLAGS", "-D warnings");

    let mut kernel_clippy = for_kernel(root, "clippy");
    kernel_clippy.args(["--", "-D", "warnings"]);

    let mut kernel_doc = for_kernel(root, "doc");
    kernel_doc.arg("--no-deps");
    kernel_doc.env(
        "CARGO_ENCODED_RUSTDOCFLAGS",
        ["--cfg", "ringo_kernel", "-D", "warnings"].join("\x1f"),
    );

    vec![
        ("formatting", fmt),
        ("lints, host", clippy),
        ("lints, kernel", kernel_clippy),
        ("documentation, host", doc),
        ("documentation, kernel", kernel_doc),
    ]
}

/// A command on all packages of the kernel, with the kernel's flags, and with the bugs that tests plant: what stands in their place
/// otherwise, the host's lints see.
fn for_kernel(root: &Root, command: &str) -> Command {
    let mut cargo = plain_cargo(root);
    cargo.args([
        command,
        "--quiet",
        "--workspace",
        "--features",
        "test-image/injection",
        "--profile",
        "kernel",
        "--target",
        TARGET,
        "--target-dir",
    ]);
    cargo.arg(root.kernel_target());
    for package in HOST_ONLY {
        cargo.args(["--exclude", package]);
    }
    cargo.env(
        "CARGO_ENCODED_RUSTFLAGS",
        kernel_rustflags(root.path()).join("\x1f"),
    );
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
    let options = BuildOptions {
        progress: true,
        ..BuildOptions::default()
    };
    let elf = match build(&options) {
        Ok(elf) => elf,
        Err(failure) if failure.line.is_empty() => {
            tell(&title, false, "does not build");
            return Ok(false);
        }
        Err(failure) => return Err(failure),
    };
    let scan = elf_scan::scan(&elf)?;
    let about = format!(
        "{} functions; {} stores below the stack pointer in precompiled ones, none elsewhere",
        scan.functions, scan.allowed_red_zone_stores
    );
    let good = scan.findings.is_empty();
    tell(&title, good, if good { &about } else { "" });
    for finding in &scan.findings {
        say::to_stderr(&format!("  {}: {finding}\n", elf.display()));
    }
    Ok(good)
}

fn tell(title: &str, good: bool, about: &str) {
    let line = format!(
        "{:6} {title:24} {about}",
        if good { "ok" } else { "FAILED" }
    );
    drop(writeln!(std::io::stdout().lock(), "{}", line.trim_end()));
}
