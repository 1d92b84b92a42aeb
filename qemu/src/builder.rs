//! Runs Cargo: programs for the bare machine, with the flags that make them one static ELF of a kernel, and for the host.

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::Doing;
use crate::file_program::{self, FilePackage, generate};
use crate::program::Program;
use crate::program_file::Ring;
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
    /// Optimised as one piece, for what is measured.
    pub measured: bool,
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
        let own = match (self.debug, self.checks, self.measured) {
            (true, ..) => "kernel-debug",
            (_, true, _) => "kernel-test",
            (_, _, true) => "kernel-bench",
            _ => "kernel",
        };
        given.unwrap_or_else(|| own.into())
    }
}

/// Compiler flags of the kernel. They go by the environment together with an explicit target, so that they reach no
/// build script or procedural macro.
pub fn kernel_rustflags(root: &Path) -> Vec<String> {
    let own = ["no-redzone=yes", "code-model=kernel"];
    bare_rustflags("ringo_kernel", &root.join("boot/kernel.ld"), &own)
}

/// Compiler flags of what runs without an operating system's loader and libraries: one static ELF, laid out by `script`.
pub fn bare_rustflags(cfg: &str, script: &Path, own: &[&str]) -> Vec<String> {
    let script = format!("link-arg=-T{}", script.display());
    let common = [
        "force-frame-pointers=yes",
        "relocation-model=static",
        "linker=rust-lld",
        "linker-flavor=ld.lld",
        &script,
        "link-arg=-static",
        "link-arg=-no-pie",
        "link-arg=--gc-sections",
    ];
    let codegen = own.iter().chain(&common).flat_map(|flag| ["-C", flag]);
    ["--cfg", cfg]
        .into_iter()
        .chain(codegen)
        .map(Into::into)
        .collect()
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
            let FilePackage { manifest, bin } = generate(root, path, name, Ring::Kernel)?;
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
    build_bin(command, bin, "the machine", options)
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
    build_bin(command, bin, "the host", options)
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

/// One binary. `place`: where it is to run.
fn build_bin(command: Command, bin: &str, place: &str, options: &BuildOptions) -> Result<PathBuf> {
    let wanted = Wanted {
        bin: Some(bin),
        shown: bin,
        place,
    };
    let built = build(command, &wanted, options)?.pop();
    built
        .map(|(_, path)| path)
        .ok_or_else(|| no_executable(bin))
}

/// Cargo was well, but there is nothing to run.
pub fn no_executable(bin: &str) -> Failure {
    Failure::new(format!("cargo has built {bin} but named no executable"))
}

/// What of a build is wanted.
pub struct Wanted<'a> {
    /// This binary; `None`: all of them.
    pub bin: Option<&'a str>,
    /// What it is called where progress is shown.
    pub shown: &'a str,
    /// Where it is to run.
    pub place: &'a str,
}

impl Wanted<'_> {
    /// Whether Cargo's message is about what is wanted, not about what that depends on.
    fn is(&self, target: &Value) -> bool {
        match self.bin {
            Some(bin) => target["name"] == bin,
            None => target["kind"][0] == "bin",
        }
    }
}

/// Runs Cargo: name and path of each binary that is wanted.
///
/// # Errors
///
/// It does not compile (Cargo has then printed why), or Cargo cannot be run.
pub fn build(
    mut command: Command,
    wanted: &Wanted<'_>,
    options: &BuildOptions,
) -> Result<Vec<(String, PathBuf)>> {
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
    let progress = Progress::start(options.progress, &format!("building {}", wanted.shown));
    let _notice = notice(wanted, options).map(Notice::line);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .doing("run cargo")?;
    let mut built = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout)
            .lines()
            .map_while(std::result::Result::ok)
        {
            built.extend(message(&line, wanted, &progress));
        }
    }
    let status = child.wait().doing("wait for cargo")?;
    progress.clear();
    if !status.success() {
        return Err(Failure::silent(1));
    }
    Ok(built)
}

/// What is said of a build that takes its time, Cargo's wait for another build included: without the hash of a file's path. On a
/// terminal that is seen anyway, and the project's tests look at every line.
fn notice(wanted: &Wanted<'_>, options: &BuildOptions) -> Option<String> {
    let (bin, place) = (wanted.shown, wanted.place);
    let seen = std::io::stderr().is_terminal() || std::env::var_os(PROFILE).is_some();
    let name = file_program::without_hash(bin).map_or(bin, |(name, _)| name);
    let unoptimised = if options.debug { " (--debug)" } else { "" };
    (options.progress && !seen).then(|| {
        format!("building {name} for {place}{unoptimised}; the first time takes a minute or two")
    })
}

/// One line of Cargo's JSON. Errors are shown as they are, warnings only of the program itself.
fn message(line: &str, wanted: &Wanted<'_>, progress: &Progress) -> Option<(String, PathBuf)> {
    let value: Value = serde_json::from_str(line).ok()?;
    let (target, is_wanted) = (&value["target"], wanted.is(&value["target"]));
    match value["reason"].as_str()? {
        "compiler-message" => {
            let error = value["message"]["level"]
                .as_str()
                .is_some_and(|level| level.starts_with("error"));
            if let Some(text) = value["message"]["rendered"]
                .as_str()
                .filter(|_| error || is_wanted)
            {
                progress.print(text);
            }
            None
        }
        "compiler-artifact" => {
            let name = target["name"].as_str().unwrap_or("");
            progress.say(format!("building {}: {name}", wanted.shown));
            let path = value["executable"].as_str().filter(|_| is_wanted)?;
            Some((name.to_string(), path.into()))
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
        let measured = BuildOptions {
            measured: true,
            ..BuildOptions::default()
        };
        assert_eq!(measured.profile(None), "kernel-bench");
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
        let found = |line: &str, bin| {
            let (shown, place) = ("", "");
            message(line, &Wanted { bin, shown, place }, &progress)
        };
        let line = r#"{"reason":"compiler-artifact","target":{"name":"hello","kind":["bin"]},"executable":"/t/hello"}"#;
        let hello = Some(("hello".to_string(), PathBuf::from("/t/hello")));
        assert_eq!(found(line, Some("hello")), hello);
        assert_eq!(found(line, None), hello);
        assert_eq!(found(line, Some("other")), None);
        let library = r#"{"reason":"compiler-artifact","target":{"name":"rt","kind":["lib"]},"executable":null}"#;
        assert_eq!(found(library, None), None);
        assert_eq!(found("warning: not JSON", Some("hello")), None);
    }
}
