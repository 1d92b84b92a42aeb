//! A shell on the program's console: looks into the machine, and gives it something to do.
//!
//! It reads the serial line by polling, since a byte that was typed can wait for 10 ms: the goroutine sleeps in between, so
//! a shell that nobody talks to costs a timer. Text comes line by line, edited by the terminal or, where that sends every
//! key, by the backspace key.

mod commands;
mod programs;

use alloc::string::String;
use commands::Next;
use csp::time::{Duration, sleep};

/// How long it sleeps while nobody types.
const IDLE: Duration = Duration::from_millis(10);
/// How long while something came a moment ago: the device holds 16 bytes at a time.
const BUSY: Duration = Duration::from_millis(1);
/// For so many looks.
const BUSY_LOOKS: u32 = 20;
/// Longest line.
const LINE_BYTES: usize = 200;

/// What keyboards send for "one back", and for the end of input (Ctrl-D; the runner sends it at the end of a file).
const BACKSPACE: [u8; 2] = [8, 127];
const END_OF_INPUT: u8 = 4;

/// Whether somebody sits at the console.
///
/// ```no_run
/// if ringo::shell::is_wanted() {
///     ringo::shell::run();
/// }
/// ```
pub fn is_wanted() -> bool {
    crate::start::config().tty
}

/// Reads commands from the console and runs them, until `exit` or the end of input. `help` lists them. A machine with `--seed` gets
/// no input, since that would come at the host's pleasure: there this says so and returns.
///
/// ```no_run
/// ringo::println!("type help, or exit");
/// ringo::shell::run();
/// ```
pub fn run() {
    if crate::start::config().icount {
        crate::println!("a machine with --seed gets no input; leave --seed out for a shell");
        return;
    }
    let mut line = Line::new();
    loop {
        crate::print!("> ");
        let Some(text) = line.read() else {
            crate::println!();
            return;
        };
        match commands::run(&text) {
            Next::GoOn => {}
            Next::Leave => return,
        }
    }
}

/// The line that is being typed.
struct Line {
    text: String,
    quiet: u32,
    /// The input has ended, behind the line that was read last.
    ended: bool,
    /// The last line ended with a carriage return: a line feed that follows belongs to it.
    after_cr: bool,
}

impl Line {
    fn new() -> Self {
        Self {
            text: String::new(),
            quiet: BUSY_LOOKS,
            ended: false,
            after_cr: false,
        }
    }

    /// The next line; None at the end of input.
    fn read(&mut self) -> Option<String> {
        while !self.ended {
            match crate::user::typed_byte() {
                Some(END_OF_INPUT) => self.ended = true,
                Some(byte) => {
                    self.quiet = 0;
                    if self.take(byte) {
                        return Some(core::mem::take(&mut self.text));
                    }
                }
                None => {
                    self.quiet = self.quiet.saturating_add(1);
                    sleep(if self.quiet < BUSY_LOOKS { BUSY } else { IDLE })
                }
            }
        }
        // A last line without an end counts.
        (!self.text.is_empty()).then(|| core::mem::take(&mut self.text))
    }

    /// One byte. True: the line is whole.
    fn take(&mut self, byte: u8) -> bool {
        let after_cr = core::mem::replace(&mut self.after_cr, byte == b'\r');
        match byte {
            b'\n' if after_cr => false,
            b'\n' | b'\r' => true,
            b if BACKSPACE.contains(&b) => {
                self.text.pop();
                false
            }
            b' '..=b'~' if self.text.len() < LINE_BYTES => {
                self.text.push(byte as char);
                false
            }
            _ => false, // other keys, and what is too long
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(typed: &[u8]) -> alloc::vec::Vec<String> {
        let mut line = Line::new();
        let whole = |&b: &u8| line.take(b).then(|| core::mem::take(&mut line.text));
        typed.iter().filter_map(whole).collect()
    }

    #[test]
    fn lines_end_however_they_end() {
        assert_eq!(lines(b"a\nb\rc\r\nd\n\n"), ["a", "b", "c", "d", ""]);
    }

    #[test]
    fn backspace_and_other_keys() {
        assert_eq!(lines(b"ab\x08\x7f\x7fgs\x1b\xc3\xa4\n"), ["gs"]);
        let long = [b'x'; 500];
        let got = lines(&[&long[..], b"\n"].concat());
        assert_eq!(got[0].len(), LINE_BYTES);
    }
}
