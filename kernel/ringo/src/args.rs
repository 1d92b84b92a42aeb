//! The program's arguments.

use alloc::string::String;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::RangeInclusive;

/// The arguments that follow `--` on the command line, without the program's name.
///
/// ```no_run
/// for (i, arg) in ringo::args().enumerate() {
///     ringo::println!("argument {i}: {arg}");
/// }
/// ```
pub fn args() -> Args {
    Args {
        left: crate::start::program_args(),
    }
}

/// The one number that a program takes as its argument, `default` where none is given.
///
/// Anything else ends the program with exit status 1 and a line that says what would be right.
///
/// ```no_run
/// let rounds = ringo::args::number("rounds", 1000, 1..=1_000_000);
/// ```
pub fn number(what: &str, default: u64, allowed: RangeInclusive<u64>) -> u64 {
    let mut given = args();
    let value = match given.next() {
        None => Some(default),
        Some(text) => text.parse().ok().filter(|n| allowed.contains(n)),
    };
    match value {
        Some(n) if given.len() == 0 => n,
        _ => {
            let (low, high) = (allowed.start(), allowed.end());
            crate::eprintln!(
                "this program takes one argument: the number of {what}, from {low} to {high} (without it: {default})"
            );
            crate::exit(1)
        }
    }
}

/// Iterator of [`args`].
///
/// ```no_run
/// let files: Vec<String> = ringo::args().collect();
/// ringo::println!("{} files, the last one is {:?}", files.len(), ringo::args().next_back());
/// ```
#[derive(Clone)]
pub struct Args {
    left: &'static [String],
}

impl fmt::Debug for Args {
    /// The list of those that are left.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.left).finish()
    }
}

impl Iterator for Args {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let (first, rest) = self.left.split_first()?;
        self.left = rest;
        Some(first.clone())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left.len(), Some(self.left.len()))
    }
}

impl ExactSizeIterator for Args {}
impl FusedIterator for Args {}

impl DoubleEndedIterator for Args {
    fn next_back(&mut self) -> Option<String> {
        let (last, rest) = self.left.split_last()?;
        self.left = rest;
        Some(last.clone())
    }
}
