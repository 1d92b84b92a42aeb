//! The print macros. What one of them prints comes in one piece where it is short: threads do not mix within a line.

use crate::{Result, syscall};
use abi::Call;
use core::fmt::{self, Write};

/// Prints to standard output. Errors are ignored: whoever must know writes to [`stdout`](crate::io::stdout).
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::print::to_stdout(::core::format_args!($($arg)*)) };
}

/// Prints a line to standard output. Errors are ignored, as by [`print!`](crate::print!).
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::print::to_stdout(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

/// Prints a line to standard error. Errors are ignored, as by [`print!`](crate::print!).
#[macro_export]
macro_rules! eprintln {
    () => { $crate::print::to_stderr(::core::format_args!("\n")) };
    ($($arg:tt)*) => { $crate::print::to_stderr(::core::format_args!("{}\n", ::core::format_args!($($arg)*))) };
}

/// One macro's output after the other.
static LINE: PrintLock = PrintLock::new(());
#[cfg(not(ringo_loom))]
type PrintLock = crate::sync::Mutex<()>;
/// Models print nothing, and their locks are made while they run.
#[cfg(ringo_loom)]
type PrintLock = std::sync::Mutex<()>;

/// What [`print!`](crate::print!) does.
#[doc(hidden)]
pub fn to_stdout(text: fmt::Arguments<'_>) {
    let _line = LINE.lock();
    unlocked(abi::STDOUT, text);
}

/// What [`eprintln!`](crate::eprintln!) does.
#[doc(hidden)]
pub fn to_stderr(text: fmt::Arguments<'_>) {
    let _line = LINE.lock();
    unlocked(abi::STDERR, text);
}

/// Without the lock.
pub(crate) fn unlocked(to: u32, text: fmt::Arguments<'_>) {
    let mut out = Buffered::new(|bytes: &[u8]| write_all(to, bytes));
    let _ = out.write_fmt(text);
    let _ = out.flush();
}

fn write_all(to: u32, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the kernel reads the bytes, no more.
        let written = unsafe {
            syscall::call(
                Call::Write,
                [to.into(), bytes.as_ptr() as u64, bytes.len() as u64],
            )
        }?;
        bytes = bytes.get(written as usize..).unwrap_or(&[]);
    }
    Ok(())
}

/// Bytes that are collected on the stack, since a panic for want of memory prints too.
struct Buffered<F: FnMut(&[u8]) -> Result<()>> {
    buf: [u8; 512],
    len: usize,
    out: F,
}

impl<F: FnMut(&[u8]) -> Result<()>> Buffered<F> {
    fn new(out: F) -> Self {
        Buffered {
            buf: [0; 512],
            len: 0,
            out,
        }
    }

    fn flush(&mut self) -> fmt::Result {
        let len = core::mem::take(&mut self.len);
        (self.out)(&self.buf[..len]).map_err(|_| fmt::Error)
    }
}

impl<F: FnMut(&[u8]) -> Result<()>> Write for Buffered<F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut text = text.as_bytes();
        while !text.is_empty() {
            let n = text.len().min(self.buf.len() - self.len);
            self.buf[self.len..][..n].copy_from_slice(&text[..n]);
            self.len += n;
            text = &text[n..];
            if self.len == self.buf.len() {
                self.flush()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: fmt::Arguments<'_>) -> Vec<Vec<u8>> {
        let mut calls = Vec::new();
        let mut out = Buffered::new(|bytes: &[u8]| {
            calls.push(bytes.to_vec());
            Ok(())
        });
        out.write_fmt(text).unwrap();
        out.flush().unwrap();
        calls
    }

    #[test]
    fn a_line_is_one_write() {
        assert_eq!(
            printed(format_args!("{} and {}\n", 1, "two")),
            [b"1 and two\n"]
        );
    }

    #[test]
    fn long_text_comes_whole_and_in_order() {
        let text: String = (0..2000)
            .map(|n| char::from(b'a' + (n % 26) as u8))
            .collect();
        let calls = printed(format_args!("{text}"));
        assert_eq!(calls.len(), 4);
        assert_eq!(calls.concat(), text.as_bytes());
    }

    #[test]
    fn an_error_ends_it() {
        let mut calls = 0;
        let mut out = Buffered::new(|_: &[u8]| {
            calls += 1;
            Err(abi::Error::Closed)
        });
        assert!(write!(out, "{:2000}", 1).is_err());
        assert_eq!(calls, 1);
    }
}
