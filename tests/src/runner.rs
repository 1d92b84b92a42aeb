//! The binary behind `cargo run`, run as a user runs it.

use crate::{runner, table};
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
    let mut command = Command::new(runner()?);
    command.args(words);
    let mut command = within(command);
    command
        .current_dir(crate::root().path())
        .stdin(Stdio::null())
        .env_remove("GOMAXPROCS")
        // What it builds is built once.
        .env("CARGO_INCREMENTAL", "0");
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
