//! The binary behind `cargo run`, run as a user runs it.

use crate::{runner, table};
use ringo_runner::PROFILE;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How it ended.
#[derive(Clone, Debug)]
pub struct RunnerOutput {
    /// Exit status; `None`: a signal.
    pub status: Option<i32>,
    /// What it printed, line ends of one kind.
    pub stdout: String,
    /// Its error side, likewise.
    pub stderr: String,
}

impl RunnerOutput {
    /// It ended with this status and said that.
    ///
    /// # Errors
    /// What was otherwise, with all it printed.
    pub fn ended(&self, status: i32, says: &str) -> Result<(), String> {
        if self.status == Some(status) && (self.stderr.contains(says) || self.stdout.contains(says))
        {
            return Ok(());
        }
        Err(format!(
            "status {:?} instead of {status}, or it did not say \"{says}\"\n--- stdout\n{}\n--- stderr\n{}",
            self.status, self.stdout, self.stderr
        ))
    }
}

/// It, with these words, in the project's folder; what it has to build costs as little as it can.
///
/// # Errors
/// It does not build.
pub fn runner_command(words: &[&str]) -> Result<Command, String> {
    let mut command = Command::new(runner()?);
    command.args(words);
    command
        .current_dir(crate::root().path())
        .env_remove("GOMAXPROCS")
        // What it builds is built once, and looked at by nobody.
        .env("CARGO_INCREMENTAL", "0");
    // Programs have most of themselves, or at least what the project depends on, in common with the tests' image, and what runs on the
    // host with the tests.
    let is_host = words.windows(2).any(|two| two == ["--machine", "host"]);
    command.env(PROFILE, if is_host { "dev" } else { "kernel-test" });
    Ok(command)
}

/// Runs it with `words`, nothing to read, in the project's folder. `within` may put the command into another one.
///
/// # Errors
/// It does not build or start.
pub fn run_runner(
    area: &'static str,
    name: &str,
    words: &[&str],
    within: impl Fn(Command) -> Command,
) -> Result<RunnerOutput, String> {
    let mut command = within(runner_command(words)?);
    command.stdin(Stdio::null());
    let begin = Instant::now();
    let output = command
        .output()
        .map_err(|e| format!("cannot run {command:?}: {e}"))?;
    table::record_command(area, name, begin.elapsed());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\r', "");
    Ok(RunnerOutput {
        status: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}
