//! Where a head ends, found while its bytes come, so that no byte is looked at twice.

use super::limits::Limits;
use super::refusal::Refusal;
use memchr::memchr;

/// Empty lines that may stand before a request (RFC 9112, 2.2: at least one).
const EMPTY_LINES_BEFORE: usize = 2;

/// The search for the end of a head.
#[derive(Default)]
pub(crate) struct Scan {
    /// The next byte to look at.
    at: usize,
    /// Where the line begins that it lies in.
    line: usize,
    /// Lines before that, without empty ones before the first.
    lines: usize,
    empty: usize,
}

impl Scan {
    /// Looks at what is new in `bytes`, which begin with the head: its length, once all of it is there. The answer does not
    /// depend on the pieces that the bytes came in.
    pub fn advance(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Refusal> {
        while let Some(found) = memchr(b'\n', &bytes[self.at..]) {
            let lf = self.at + found;
            self.fits(lf + 1, limits)?;
            if lf == self.line || bytes[lf - 1] != b'\r' {
                return Err(Refusal::BareLineFeed);
            }
            let is_empty = lf - 1 == self.line;
            (self.at, self.line) = (lf + 1, lf + 1);
            match (is_empty, self.lines) {
                (false, _) => self.lines += 1,
                (true, 0) if self.empty == EMPTY_LINES_BEFORE => return Err(Refusal::RequestLine),
                (true, 0) => self.empty += 1,
                (true, _) => return Ok(Some(lf + 1)),
            }
        }
        self.at = bytes.len();
        self.fits(bytes.len(), limits).map(|()| None)
    }

    fn fits(&self, len: usize, limits: &Limits) -> Result<(), Refusal> {
        if self.lines == 0 && len > limits.line_bytes {
            return Err(Refusal::LineTooLong);
        }
        match len > limits.head_bytes {
            true => Err(Refusal::HeadTooLarge),
            false => Ok(()),
        }
    }
}
