//! The host machine: the same program as a process of this system, on its threads.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::console::{self, Sink};
use crate::failure::Doing;
use crate::{Input, Outcome, Output, Result, sys};

/// A program to run natively.
#[derive(Clone, Debug)]
pub struct HostMachine {
    /// Its executable.
    pub executable: PathBuf,
    /// The program's name.
    pub program: String,
    /// Threads that stand for CPUs.
    pub smp: u32,
    /// `key=value` words, as on the kernel's command line, not checked here.
    pub words: Vec<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// `None`: no limit.
    pub timeout: Option<Duration>,
    /// What it reads.
    pub input: Input,
    /// Where output goes.
    pub output: Output,
}

impl HostMachine {
    /// A captured machine of 2 threads without a time limit.
    pub fn new(executable: PathBuf, program: &str) -> HostMachine {
        HostMachine {
            executable,
            program: program.to_string(),
            smp: 2,
            words: Vec::new(),
            args: Vec::new(),
            timeout: None,
            input: Input::Nothing,
            output: Output::Capture,
        }
    }

    /// Runs it and waits for its end.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn run(&self) -> Result<Outcome> {
        let mut command = self.command();
        let stdout = Sink::stdout(self.output, &Arc::default()).doing("use stdout")?;
        let mut stderr = Sink::stderr(self.output).doing("use stderr")?;
        let started = Instant::now();
        let mut child = command
            .spawn()
            .doing(format_args!("start {}", self.executable.display()))?;
        if let Some(to) = child.stdin.take() {
            let input = self.input.clone();
            thread::spawn(move || console::feed(&input, to));
        }
        let mut readers = Vec::new();
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            let (to_out, to_err) = (stdout.clone(), stderr.clone());
            readers.push(thread::spawn(move || keep(out, to_out)));
            readers.push(thread::spawn(move || keep(err, to_err)));
        }
        let deadline = self.timeout.and_then(|limit| started.checked_add(limit));
        let (status, cpu_time) = sys::wait(child, deadline).doing("wait for the program")?;
        let wall = started.elapsed();
        for reader in readers {
            drop(reader.join());
        }
        let (exit, line) = verdict(status, self.timeout.is_some_and(|limit| wall >= limit));
        if let Some(line) = line {
            drop(writeln!(stderr, "{line}"));
        }
        Ok(Outcome {
            exit,
            stdout: stdout.text(),
            stderr: stderr.text(),
            wall,
            cpu_time,
            ..Outcome::default()
        })
    }

    fn command(&self) -> Command {
        let mut words = self.words.clone();
        words.push(format!("smp={}", self.smp));
        let program = self.program.replace(char::is_whitespace, "_");
        words.push(format!("program={program}"));
        let mut command = Command::new(&self.executable);
        command.args(&self.args);
        command.env("RINGO_CMDLINE", words.join(" "));
        command.stdin(match self.input {
            Input::Nothing => Stdio::null(),
            Input::PassThrough => Stdio::inherit(),
            Input::Bytes(_) => Stdio::piped(),
        });
        let stream = || match self.output {
            Output::Capture => Stdio::piped(),
            Output::PassThrough => Stdio::inherit(),
        };
        command.stdout(stream()).stderr(stream());
        sys::tie(&mut command, &[]);
        command
    }
}

fn keep(from: impl std::io::Read, mut to: Sink) {
    console::pump(from, |bytes| drop(to.write_all(bytes)));
}

/// The program's own status is the runner's; a signal is fatal, except the one that ends it at its time limit, and the
/// one of a pipe that nobody reads: as on QEMU that is a failure, and whoever closed it knows.
fn verdict(status: ExitStatus, over: bool) -> (u8, Option<String>) {
    match (status.code(), status.signal()) {
        (Some(code @ 0..=3), _) => (code as u8, None),
        (Some(code), _) => (
            3,
            Some(format!(
                "the program ended with status {code}, which is none of the runtime's"
            )),
        ),
        (None, Some(libc::SIGKILL)) if over => (3, Some("time limit reached".into())),
        (None, Some(libc::SIGKILL)) => (3, Some("the program was killed".into())),
        (None, Some(libc::SIGPIPE)) => (1, None),
        (None, signal) => (
            2,
            Some(format!(
                "fatal: the program was ended by signal {}",
                signal.unwrap_or(0)
            )),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, timeout: Option<Duration>) -> Outcome {
        let mut machine = HostMachine::new("/bin/sh".into(), "x");
        machine.args = vec!["-c".into(), script.into()];
        machine.words = vec!["preempt=coop".into()];
        machine.timeout = timeout;
        machine.run().unwrap()
    }

    #[test]
    fn words_output_and_status() {
        let outcome = sh("echo $RINGO_CMDLINE; echo two >&2; exit 2", None);
        assert_eq!(outcome.stdout, "preempt=coop smp=2 program=x\n");
        assert_eq!((outcome.stderr.as_str(), outcome.exit), ("two\n", 2));
    }

    #[test]
    fn ends_by_force() {
        let outcome = sh("exec sleep 60", Some(Duration::from_millis(50)));
        assert_eq!(
            (outcome.exit, outcome.stderr.as_str()),
            (3, "time limit reached\n")
        );
        let outcome = sh("kill -SEGV $$", None);
        assert_eq!(outcome.exit, 2);
        assert!(outcome.stderr.contains("signal 11"));
        assert_eq!(sh("exit 77", None).exit, 3);
        let outcome = sh("kill -PIPE $$", None);
        assert_eq!((outcome.exit, outcome.stderr.as_str()), (1, ""));
    }
}
