//! The console, as a program's standard input and output. Input is polled, as the kernel's shell does: a byte that was typed can wait
//! for 10 ms.

use crate::wait::Wait;
use abi::Error;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How long a reader sleeps while nobody types, and while something came a moment ago: the device holds 16 bytes at a time.
const IDLE_NS: u64 = 10_000_000;
const BUSY_NS: u64 = 1_000_000;
/// For so many looks.
const BUSY_LOOKS: u32 = 20;
/// What the terminal, or the runner at the end of a file, sends for the end of input (Ctrl-D).
const END_OF_INPUT: u8 = 4;

/// What is typed.
pub struct Input {
    source: fn() -> Option<u8>,
    ended: AtomicBool,
}

impl Input {
    /// What `source` gives: the next byte, None if there is none yet.
    pub fn new(source: fn() -> Option<u8>) -> Input {
        Input {
            source,
            ended: AtomicBool::new(false),
        }
    }

    /// Reads some bytes, waits for the first; how many, 0 at the end.
    ///
    /// # Errors
    /// Those of the wait.
    pub fn read(&self, mut wait: Wait<'_>, to: &mut [u8]) -> Result<usize, Error> {
        let mut looks = 0;
        while !(to.is_empty() || self.ended.load(Relaxed)) {
            let n = self.take(to);
            if n != 0 {
                return Ok(n);
            }
            looks += 1;
            wait.sleep(if looks < BUSY_LOOKS { BUSY_NS } else { IDLE_NS })?
        }
        Ok(0)
    }

    /// What is there now.
    fn take(&self, to: &mut [u8]) -> usize {
        let mut n = 0;
        while n < to.len() && !self.ended.load(Relaxed) {
            match (self.source)() {
                Some(END_OF_INPUT) => self.ended.store(true, Relaxed),
                Some(byte) => {
                    to[n] = byte;
                    n += 1
                }
                None => break,
            }
        }
        n
    }
}

/// Bytes of output that the console takes at a time: it has its lock meanwhile, with preemption off, and takes about a microsecond
/// for each under QEMU.
const PIECE_BYTES: usize = 256;

/// Output in pieces for the console: whole lines, where these are shorter.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let most = rest.len().min(PIECE_BYTES);
        let lines = rest[..most].iter().rposition(|&b| b == b'\n');
        let end = match lines {
            Some(newline) if most < rest.len() => newline + 1,
            _ => most,
        };
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn pieces_are_lines_where_these_are_short() {
        let of = |bytes: &[u8]| pieces(bytes).map(<[u8]>::len).collect::<Vec<_>>();
        assert_eq!(of(b""), [0; 0]);
        assert_eq!(of(b"a\nb"), [3]);
        let long = [b'x'; 600];
        assert_eq!(of(&long), [256, 256, 88]);
        let (line, mut text) = ([b'x'; 99], Vec::new());
        for _ in 0..5 {
            text.extend(line);
            text.push(b'\n')
        }
        text.extend(b"the rest");
        assert_eq!(of(&text), [200, 200, 108]);
        assert_eq!(of(&[&b"\n"[..], &long].concat()), [1, 256, 256, 88]);
    }
}
