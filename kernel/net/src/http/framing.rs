//! Where a message's body ends (RFC 9112, 6). Whatever two readers could understand differently is refused.

use super::bytes::elements;
use super::refusal::Refusal;

/// A version of HTTP.
///
/// ```
/// use net::http::Version;
/// assert!(Version::Http10 < Version::Http11);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0: a connection ends after a response, unless both sides say otherwise.
    Http10,
    /// HTTP/1.1: a connection is kept, unless one side says otherwise.
    Http11,
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// By its length; 0 where nothing is said.
    Length(u64),
    /// By the last chunk.
    Chunked,
    /// Nothing is said: no body of a request, the rest of the stream for a response.
    Unsaid,
}

/// What the fields of a head say about the body.
#[derive(Default)]
pub(crate) struct Framing {
    length: Option<u64>,
    coded: bool,
    /// How often `chunked` is there, and whether it is the last.
    chunked: u32,
    chunked_last: bool,
    other: bool,
}

impl Framing {
    /// A field Content-Length.
    pub fn content_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.length.is_some() {
            return Err(Refusal::Lengths);
        }
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(match value.contains(&b',') {
                true => Refusal::Lengths,
                false => Refusal::Length,
            });
        }
        let add = |n: u64, digit: &u8| {
            let digit = u64::from(digit - b'0');
            n.saturating_mul(10).saturating_add(digit)
        };
        self.length = Some(value.iter().fold(0, add));
        Ok(())
    }

    /// A field Transfer-Encoding.
    pub fn transfer_encoding(&mut self, value: &[u8]) {
        self.coded = true;
        for coding in elements(value) {
            self.chunked_last = coding.eq_ignore_ascii_case(b"chunked");
            match self.chunked_last {
                true => self.chunked += 1,
                false => self.other = true,
            }
        }
    }

    /// The verdict, when all fields have been seen.
    pub fn body_end(&self, version: Version) -> Result<BodyEnd, Refusal> {
        if !self.coded {
            return Ok(self.length.map_or(BodyEnd::Unsaid, BodyEnd::Length));
        }
        if version == Version::Http10 {
            return Err(Refusal::EncodingOld);
        }
        if self.length.is_some() {
            return Err(Refusal::LengthAndEncoding);
        }
        if !self.chunked_last || self.chunked > 1 {
            return Err(Refusal::EncodingOrder);
        }
        match self.other {
            true => Err(Refusal::Coding),
            false => Ok(BodyEnd::Chunked),
        }
    }
}
