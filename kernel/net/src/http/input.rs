//! What has come and is not used up: one buffer for a connection.
//!
//! ```text
//!   buf: │ used up │ head │ body, decoded in place │ framing │ what came behind it │ room │
//!                  start                                                            end
//! ```

use alloc::vec;
use alloc::vec::Vec;
use embedded_io::{Error as _, ErrorKind, Read};

/// What the buffer is at first, and again after it was larger.
const AT_FIRST: usize = 2048;
/// What it keeps from one request to the next.
const KEPT: usize = 16 << 10;

pub(crate) struct Input {
    buf: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub fn new() -> Input {
        Input {
            buf: vec![0; AT_FIRST],
            start: 0,
            end: 0,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Reads once, into a buffer that grows up to `most` bytes; what lies in it is less. 0: the stream's end.
    pub fn fill<R: Read>(&mut self, from: &mut R, most: usize) -> Result<usize, ErrorKind> {
        if self.end == self.buf.len() {
            match self.start {
                0 => {
                    let twice = (2 * self.buf.len()).min(most);
                    self.buf.resize(twice.max(self.buf.len() + 1), 0);
                }
                start => {
                    self.buf.copy_within(start..self.end, 0);
                    (self.start, self.end) = (0, self.end - start);
                }
            }
        }
        loop {
            match from.read(&mut self.buf[self.end..]) {
                Ok(n) => {
                    let n = n.min(self.buf.len() - self.end);
                    self.end += n;
                    return Ok(n);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.kind()),
            }
        }
    }

    /// Moves `len` bytes down, from `from` to `to`, both counted from the start.
    pub fn move_down(&mut self, from: usize, len: usize, to: usize) {
        let at = self.start + from;
        self.buf.copy_within(at..at + len, self.start + to);
    }

    /// Forgets what lies behind `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.end = self.start + len;
    }

    /// The first `len` bytes are used up.
    pub fn consume(&mut self, len: usize) {
        self.start += len;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buf.len() > KEPT {
                self.buf = vec![0; AT_FIRST];
            }
        }
    }
}
