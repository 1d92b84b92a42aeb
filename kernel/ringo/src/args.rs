//! The program's arguments.

use alloc::string::String;
use core::iter::FusedIterator;

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

/// Iterator of [`args`].
#[derive(Clone, Debug)]
pub struct Args {
    left: &'static [String],
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
