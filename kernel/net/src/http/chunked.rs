//! The chunked coding (RFC 9112, 7.1), taken apart as its bytes come.
//!
//! ```text
//!                 ┌────────────────────────────────────────────────────────────┐
//!                 ▼                                                            │
//!  hex digits ─► Size ─ CR ─► SizeLf ─ LF, n > 0 ─► Data(n) ─ n bytes ─► DataCr ─► DataLf
//!                 │ SP ;  ▲      │
//!                 ▼       │      └─ LF, n = 0 ─► LineStart ─ CR ─► EndLf ─ LF ─► Done
//!              Extension ─┘ CR                    │     ▲
//!                                                 ▼     │ CR LF
//!                                           TrailerName ─ : ─► TrailerValue ─► TrailerLf
//! ```
//! Strict where leniency has let requests be smuggled: lines end with CR LF, sizes are digits and nothing else.

use super::bytes::{is_token, is_value};
use core::ops::Range;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkError {
    Syntax,
    /// More extensions and trailers than allowed.
    Extra,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A chunk of so many bytes begins.
    Size(u64),
    /// Bytes of the body lie there.
    Data(Range<usize>),
    /// All that is there has been looked at.
    More,
    /// The body is at its end.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Blank,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    LineStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// The machine above.
pub(crate) struct Chunks {
    state: State,
    /// Of the size that is read, or what is left of its chunk.
    size: u64,
    digits: u8,
    /// Bytes that extensions and trailers may still have.
    extra: usize,
}

impl Chunks {
    pub fn new(extra_bytes: usize) -> Chunks {
        Chunks {
            state: State::Size,
            size: 0,
            digits: 0,
            extra: extra_bytes,
        }
    }

    /// Goes on in `input` at `at`, which moves.
    pub fn next(&mut self, input: &[u8], at: &mut usize) -> Result<Event, ChunkError> {
        loop {
            match self.state {
                State::Done => return Ok(Event::End),
                State::Data => {
                    let there = (input.len() - *at) as u64;
                    let len = there.min(self.size) as usize;
                    if len == 0 {
                        return Ok(Event::More);
                    }
                    let from = *at;
                    *at += len;
                    self.size -= len as u64;
                    if self.size == 0 {
                        self.state = State::DataCr;
                    }
                    return Ok(Event::Data(from..from + len));
                }
                _ => {}
            }
            let Some(&byte) = input.get(*at) else {
                return Ok(Event::More);
            };
            *at += 1;
            let was = self.state;
            self.state = self.step(byte)?;
            if was == State::SizeLf && self.size > 0 {
                return Ok(Event::Size(self.size));
            }
        }
    }

    fn step(&mut self, byte: u8) -> Result<State, ChunkError> {
        Ok(match (self.state, byte) {
            (State::Size, b'\r') if self.digits > 0 => State::SizeLf,
            (State::Size, b';') if self.digits > 0 => self.extra(State::Extension)?,
            (State::Size, b' ' | b'\t') if self.digits > 0 => self.extra(State::Blank)?,
            (State::Size, _) => return self.digit(byte),
            (State::Blank, b' ' | b'\t') => self.extra(State::Blank)?,
            (State::Blank, b';') => self.extra(State::Extension)?,
            (State::Blank | State::Extension, b'\r') => State::SizeLf,
            (State::Extension, _) if is_value(byte) => self.extra(State::Extension)?,
            (State::SizeLf, b'\n') if self.size > 0 => State::Data,
            (State::SizeLf, b'\n') => State::LineStart,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => {
                self.digits = 0;
                State::Size
            }
            (State::LineStart, b'\r') => State::EndLf,
            (State::LineStart | State::TrailerName, _) if is_token(byte) => {
                self.extra(State::TrailerName)?
            }
            (State::TrailerName, b':') => self.extra(State::TrailerValue)?,
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, _) if is_value(byte) => self.extra(State::TrailerValue)?,
            (State::TrailerLf, b'\n') => State::LineStart,
            (State::EndLf, b'\n') => State::Done,
            _ => return Err(ChunkError::Syntax),
        })
    }

    fn digit(&mut self, byte: u8) -> Result<State, ChunkError> {
        let digit = (byte as char).to_digit(16).ok_or(ChunkError::Syntax)?;
        if self.digits == 16 {
            return Err(ChunkError::Syntax);
        }
        self.digits += 1;
        self.size = self.size << 4 | u64::from(digit);
        Ok(State::Size)
    }

    /// A byte that is dropped.
    fn extra(&mut self, next: State) -> Result<State, ChunkError> {
        self.extra = self.extra.checked_sub(1).ok_or(ChunkError::Extra)?;
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body, and what was left of the input; by pieces of `step` bytes.
    fn decode(input: &[u8], step: usize) -> Result<Option<(Vec<u8>, usize)>, ChunkError> {
        let (mut chunks, mut body) = (Chunks::new(40), Vec::new());
        let mut at = 0;
        for end in (0..=input.len()).step_by(step) {
            loop {
                match chunks.next(&input[..end], &mut at)? {
                    Event::Size(n) => assert!(n > 0),
                    Event::Data(range) => body.extend_from_slice(&input[range]),
                    Event::More => break,
                    Event::End => return Ok(Some((body, at))),
                }
            }
        }
        Ok(None)
    }

    #[test]
    fn bodies() {
        let good: &[(&str, &str)] = &[
            ("0\r\n\r\n", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("00005\r\nhello\r\n1\r\n!\r\n00\r\n\r\n", "hello!"),
            (
                "A;x=\"y\"\r\n0123456789\r\n0 ; q\r\nX-Trailer: v\r\nY:\r\n\r\n",
                "0123456789",
            ),
            ("a \t\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ];
        for (input, body) in good {
            let mut with_next = input.as_bytes().to_vec();
            with_next.extend_from_slice(b"GET / HTTP/1.1");
            for step in [1, 2, 3, 7, input.len()] {
                // Ends of pieces lie on the end of the body or behind it.
                let all = &with_next[..input.len().next_multiple_of(step)];
                let (got, at) = decode(all, step).unwrap().expect("an end");
                assert_eq!((&*got, at), (body.as_bytes(), input.len()), "{input:?}");
            }
            for cut in 0..input.len() {
                assert_eq!(decode(&input.as_bytes()[..cut], 1), Ok(None), "{input:?}");
            }
        }
    }

    #[test]
    fn broken() {
        let bad = [
            "\r\n",
            ";\r\n",
            "x\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\n",
            "1\n",
            "1\r\r",
            "1 2\r\n",
            "1;\n",
            "1;\0",
            "11112222333344445\r\n",
            "1\r\nab",
            "1\r\na\n",
            "1\r\na\r\r",
            "0\r\n\n",
            "0\r\n:\r\n",
            "0\r\na b:\r\n",
            "0\r\n a:\r\n",
            "0\r\na:\n",
            "0\r\na:\0",
            "0\r\na\r\n",
            "0\r\n\r\r",
        ];
        for input in bad {
            assert_eq!(
                decode(input.as_bytes(), 1),
                Err(ChunkError::Syntax),
                "{input:?}"
            );
        }
        for input in [
            "1;0123456789012345678901234567890123456789\r\n",
            "0\r\nname: 0123456789012345678901234567890123456789\r\n",
        ] {
            assert_eq!(
                decode(input.as_bytes(), 1),
                Err(ChunkError::Extra),
                "{input:?}"
            );
        }
    }
}
