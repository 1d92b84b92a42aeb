//! The program's arguments: a block of bytes that the kernel lays beside the first stack, each argument ended by a NUL.

use alloc::string::String;
use core::fmt;
use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static BLOCK: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// # Safety
///
/// The block stays and is not written to.
#[cfg(ringo_user)]
pub(crate) unsafe fn set(block: *mut u8, bytes: usize) {
    BLOCK.store(block, Ordering::Relaxed); // the only thread yet
    BYTES.store(bytes, Ordering::Relaxed);
}

/// What the program was given, without its own name. What is not UTF-8 is replaced (U+FFFD).
pub fn args() -> Args {
    let block = BLOCK.load(Ordering::Relaxed);
    let left: &[u8] = if block.is_null() {
        &[]
    } else {
        // SAFETY: `set` was told that the block stays as it is.
        unsafe { core::slice::from_raw_parts(block, BYTES.load(Ordering::Relaxed)) }
    };
    Args { left }
}

/// The `index`-th argument as a number, `default` if it was not given. If it is no number of `allowed`, the program ends: one line on
/// standard error says what it should be, and the exit code is 1.
pub fn number(index: usize, what: &str, default: u64, allowed: RangeInclusive<u64>) -> u64 {
    let value = match args().nth(index) {
        None => Some(default),
        Some(text) => text.parse().ok().filter(|n| allowed.contains(n)),
    };
    value.unwrap_or_else(|| {
        let (low, high) = (allowed.start(), allowed.end());
        crate::eprintln!(
            "argument {}: {what}, from {low} to {high} (without it: {default})",
            index + 1
        );
        crate::exit(1)
    })
}

/// Iterator of [`args`].
#[derive(Clone)]
pub struct Args {
    left: &'static [u8],
}

impl Iterator for Args {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let (first, rest) = split(self.left)?;
        self.left = rest;
        Some(String::from_utf8_lossy(first).into_owned())
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// The first argument of a block, without its NUL, and what follows.
fn split(block: &[u8]) -> Option<(&[u8], &[u8])> {
    if block.is_empty() {
        return None;
    }
    let end = block.iter().position(|&b| b == 0).unwrap_or(block.len());
    Some((&block[..end], block.get(end + 1..).unwrap_or(&[])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(left: &'static [u8]) -> Vec<String> {
        Args { left }.collect()
    }

    #[test]
    fn blocks_are_split_at_each_nul() {
        assert!(all(b"").is_empty());
        assert_eq!(all(b"a\0b c\0"), ["a", "b c"]);
        assert_eq!(all(b"\0\0x\0"), ["", "", "x"]);
        assert_eq!(all(b"no end"), ["no end"]);
        assert_eq!(all(b"\xff\0"), ["\u{fffd}"]);
    }

    #[test]
    fn a_number_that_is_not_given_is_the_default() {
        assert_eq!(number(0, "anything", 7, 1..=9), 7);
    }
}
