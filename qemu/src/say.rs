//! What the runner itself writes to stdout and stderr. `println!` and `eprintln!` panic where nobody reads any more, which
//! is no fault of this tool.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::Result;
use crate::failure::Doing;

/// A line of the runner's own on stderr.
pub fn say(line: impl Display) {
    to_stderr(&format!("ringo: {line}\n"));
}

/// Text on stderr as it is, in one piece. Nobody is left to be told that it cannot be written.
pub fn to_stderr(text: &str) {
    drop(io::stderr().write_all(text.as_bytes()));
}

/// Text on stdout, in one piece. Whoever reads it may have had enough: no error.
///
/// # Errors
///
/// It cannot be written for another reason.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    judge(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn judge(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err::<(), _>(error).doing("write the output")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_cannot_be_written() {
        assert_eq!(judge(Ok(())), Ok(()));
        assert_eq!(judge(Err(ErrorKind::BrokenPipe.into())), Ok(()));
        let full = judge(Err(io::Error::from_raw_os_error(libc::ENOSPC)));
        let line = full.unwrap_err().line;
        assert!(
            line.starts_with("cannot write the output: No space"),
            "{line}"
        );
    }
}
