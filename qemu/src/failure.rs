//! What went wrong on this side of the machine: one line for the user, and the exit status that goes with it.

use std::fmt;

/// A line for the user. Never a backtrace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line; empty where everything has been said already (the compiler's errors).
    pub line: String,
    /// Exit status of the runner: 1 for what the user can put right.
    pub status: u8,
}

/// Shorthand of this crate.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Wrong usage, a program that does not build, a missing tool: exit status 1.
    pub fn new(line: impl fmt::Display) -> Failure {
        // A message of another program may have several lines; the first says what.
        let text = line.to_string();
        let line = text
            .lines()
            .find(|l| !l.trim().is_empty())
            .unwrap_or("")
            .trim()
            .to_string();
        Failure { line, status: 1 }
    }

    /// Everything has been said already.
    pub fn silent(status: u8) -> Failure {
        Failure {
            line: String::new(),
            status,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl std::error::Error for Failure {}

/// Turns an error into a [`Failure`] that says what was being done.
pub(crate) trait Doing<T> {
    /// `doing` is a phrase such as "read Cargo.toml"; the line becomes "cannot read Cargo.toml: …".
    fn doing(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::new(format!("cannot {doing}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line() {
        assert_eq!(Failure::new("\n  first\nsecond\n").line, "first");
        let failed: std::result::Result<(), &str> = Err("no such file\nreally");
        assert_eq!(
            failed.doing("read x").unwrap_err().line,
            "cannot read x: no such file"
        );
    }
}
