//! Runs Cargo: programs for the bare machine, with the flags that make them one static ELF of a kernel, and for the host.

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::Doing;
use crate::file_program::{self, FilePackage};
use crate::program::Program;
use crate::progress::{Notice, Progress};
use crate::{Failure, Result, Root};

/// The target of both machines: the host's own, whose precompiled `core` and `alloc` the kernel uses.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The environment's word for the Cargo profile of whatever is built, for those who have most of it in another one already: the
/// project's tests. `dev`, for the host machine, is where the tests themselves are.
pub const PROFILE: &str = "RINGO_PROFILE";

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Unoptimised, with all checks.
    pub debug: bool,
    /// Optimised, with all checks: the profile of the tests' image.
    pub checks: bool,
    /// Cargo features of the package. A binary with other features needs a name of its own: what Cargo calls it says nothing of them.
    pub features: Vec<String>,
    /// Jobs for Cargo; 0: its default.
    pub jobs: usize,
    /// Whether progress is shown, on a terminal; elsewhere a line, if it takes its time.
    pub progress: bool,
}

impl BuildOptions {
    /// `given`: what [`PROFILE`] says.
    fn profile(&self, given: Option<String>) -> String {
        let own = match (self.debug, self.checks) {
            (true, _) => "kernel-debug",
            (false, true) => "kernel-test",
            (false, false) => "kernel",
        };
        given.unwrap_or_else(|| own.into())
    }
}

/// Compiler flags of the kernel. They go by the environment together with an explicit target, so that they reach no
/// build script or procedural macro.
pub fn kernel_rustflags(root: &Path) -> Vec<String> {
    let script = root.join("boot/kernel.ld");
    let mut flags = vec!["--cfg".to_string(), "ringo_kernel".to_string()];
    let codegen = [
        "no-redzone=yes".to_string(),
        "force-frame-pointers=yes".to_string(),
        "relocation-model=static".to_string(),
        "code-model=kernel".to_string(),
        "linker=rust-lld".to_string(),
        "linker-flavor=ld.lld".to_string(),
        format!("link-arg=-T{}", script.display()),
        "link-arg=-static".to_string(),
        "link-arg=-no-pie".to_string(),
        "link-arg=--gc-sections".to_string(),
    ];
    flags.extend(
        codegen
            .into_iter()
            .flat_map(|flag| ["-C".to_string(), flag]),
    );
    flags
}

/// Builds the binary `bin` of `package` for the bare machine; the path of its ELF.
///
/// # Errors
///
/// It does not compile (Cargo has then printed why), or Cargo cannot be run.
pub fn build_kernel(
    root: &Root,
    package: &str,
    bin: &str,
    options: &BuildOptions,
) -> Result<PathBuf> {
    let mut command = cargo(root);
    command.args(["-p", package, "--bin", bin]);
    kernel_build(root, command, bin, options)
}

/// Builds `program` for the bare machine (`host` false) or the host.
pub fn build_program(
    root: &Root,
    program: &Program,
    host: bool,
    options: &BuildOptions,
) -> Result<PathBuf> {
    let mut command = cargo(root);
    let bin = match program {
        Program::Demo { name } => {
            command.args(["-p", "demos", "--bin", name]);
            if host && beside_tests() {
                // They have a say in the features of what it depends on.
                command.args(["-p", "tests", "-p", "ringo-runner"]);
            }
            name.clone()
        }
        Program::File { path, name } => {
            let FilePackage { manifest, bin } = file_program::generate(root, path, name)?;
            command
                .arg("--manifest-path")
                .arg(manifest)
                .args(["--bin", &bin]);
            bin
        }
    };
    if host {
        host_build(root, command, &bin, options)
    } else {
        kernel_build(root, command, &bin, options)
    }
}

fn kernel_build(
    root: &Root,
    mut command: Command,
    bin: &str,
    options: &BuildOptions,
) -> Result<PathBuf> {
    let flags = kernel_rustflags(root.path());
    command
        .args(["--target", TARGET, "--target-dir"])
        .arg(root.kernel_target());
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    build(command, bin, "the machine", options)
}

fn host_build(
    root: &Root,
    mut command: Command,
    bin: &str,
    options: &BuildOptions,
) -> Result<PathBuf> {
    command.arg("--target-dir").arg(match beside_tests() {
        true => root.target(),
        false => root.kernel_target(),
    });
    // No flags, whatever the environment says.
    command.env("CARGO_ENCODED_RUSTFLAGS", "");
    build(command, bin, "the host", options)
}

/// Whether what is built for the host lies where the tests do.
fn beside_tests() -> bool {
    std::env::var(PROFILE).is_ok_and(|profile| profile == "dev")
}

/// `cargo build` in the project's folder, with nothing of this process's own Cargo environment left in the way.
pub fn cargo(root: &Root) -> Command {
    let mut command = plain_cargo(root);
    command.arg("build");
    command
}

/// `cargo` in the project's folder, cleaned as [`cargo`].
pub fn plain_cargo(root: &Root) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root.path());
    let ours = [
        "RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET_DIR",
    ];
    for name in ours {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
            || text.starts_with("CARGO_BIN_")
        {
            command.env_remove(&name);
        }
    }
    command
}

/// `place`: where it is to run.
fn build(mut command: Command, bin: &str, place: &str, options: &BuildOptions) -> Result<PathBuf> {
    let coloured = std::io::stderr().is_terminal();
    let format = if coloured {
        "json-diagnostic-rendered-ansi"
    } else {
        "json"
    };
    command.args([
        "--quiet",
        "--profile",
        &options.profile(std::env::var(PROFILE).ok()),
        "--message-format",
        format,
    ]);
    if !options.features.is_empty() {
        command.arg("--features").arg(options.features.join(","));
    }
    if options.jobs > 0 {
        command.arg("--jobs").arg(options.jobs.to_string());
    }
    let progress = Progress::start(options.progress, &format!("building {bin}"));
    let _notice = notice(bin, place, options).map(Notice::line);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .doing("run cargo")?;
    let mut executable = None;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout)
            .lines()
            .map_while(std::result::Result::ok)
        {
            if let Some(found) = message(&line, bin, &progress) {
                executable = Some(found);
            }
        }
    }
    let status = child.wait().doing("wait for cargo")?;
    progress.clear();
    match executable {
        Some(path) if status.success() => Ok(path),
        _ if status.success() => Err(Failure::new(format!(
            "cargo has built {bin} but named no executable"
        ))),
        _ => Err(Failure::silent(1)),
    }
}

/// What is said of a build that takes its time, Cargo's wait for another build included: without the hash of a file's path. On a
/// terminal that is seen anyway, and the project's tests look at every line.
fn notice(bin: &str, place: &str, options: &BuildOptions) -> Option<String> {
    let seen = std::io::stderr().is_terminal() || std::env::var_os(PROFILE).is_some();
    let name = file_program::without_hash(bin).map_or(bin, |(name, _)| name);
    let unoptimised = if options.debug { " (--debug)" } else { "" };
    (options.progress && !seen).then(|| {
        format!("building {name} for {place}{unoptimised}; the first time takes a minute or two")
    })
}

/// One line of Cargo's JSON. Errors are shown as they are, warnings only of the program itself.
fn message(line: &str, bin: &str, progress: &Progress) -> Option<PathBuf> {
    let value: Value = serde_json::from_str(line).ok()?;
    let target = value["target"]["name"].as_str().unwrap_or("");
    match value["reason"].as_str()? {
        "compiler-message" => {
            let error = value["message"]["level"]
                .as_str()
                .is_some_and(|level| level.starts_with("error"));
            if let Some(text) = value["message"]["rendered"]
                .as_str()
                .filter(|_| error || target == bin)
            {
                progress.print(text);
            }
            None
        }
        "compiler-artifact" => {
            progress.say(format!("building {bin}: {target}"));
            (target == bin).then(|| value["executable"].as_str().map(PathBuf::from))?
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles() {
        let options = |debug, checks| BuildOptions {
            debug,
            checks,
            ..BuildOptions::default()
        };
        let own = |debug, checks| options(debug, checks).profile(None);
        assert_eq!(own(false, false), "kernel");
        assert_eq!(own(false, true), "kernel-test");
        assert_eq!(
            (own(true, false), own(true, true)),
            ("kernel-debug".into(), "kernel-debug".into())
        );
        assert_eq!(options(true, false).profile(Some("x".into())), "x");
    }

    #[test]
    fn flags_of_the_kernel() {
        let flags = kernel_rustflags(Path::new("/the root"));
        assert_eq!(&flags[..2], ["--cfg", "ringo_kernel"]);
        assert!(flags.contains(&"link-arg=-T/the root/boot/kernel.ld".to_string()));
        assert_eq!(flags.iter().filter(|flag| *flag == "-C").count(), 10);
    }

    #[test]
    fn executables_are_found_in_cargos_messages() {
        let progress = Progress::start(false, "");
        let line =
            r#"{"reason":"compiler-artifact","target":{"name":"hello"},"executable":"/t/hello"}"#;
        assert_eq!(
            message(line, "hello", &progress),
            Some(PathBuf::from("/t/hello"))
        );
        assert_eq!(message(line, "other", &progress), None);
        assert_eq!(message("warning: not JSON", "hello", &progress), None);
    }
}
