//! A small client: one GET, one response.

use super::bytes::{Span, is_value, trim};
use super::chunked::{ChunkError, Chunks, Event};
use super::fields::{FieldAt, Fields};
use super::framing::{BodyEnd, Framing, Version};
use super::input::Input;
use super::limits::Limits;
use super::refusal::Refusal;
use super::scan::Scan;
use super::target::{Target, is_host};
use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use embedded_io::{Error as _, ErrorKind, ErrorType, Read, Write};

/// Responses 100 to 199 that may come before the one that counts.
const INTERIM_MOST: usize = 16;
/// The buffer that a body goes through.
const BODY_BUFFER: usize = 16 << 10;

/// Why there is no response, or no more of it.
///
/// ```
/// let error = net::http::GetError::CutOff;
/// assert_eq!(error.to_string(), "the response was cut off");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetError {
    /// Host or target cannot stand in a request.
    Input,
    /// The response's head is not one of HTTP/1.1, and what would be right.
    Head(&'static str),
    /// A chunk of the body is broken.
    Chunk,
    /// Head, fields, chunk extensions, or body are longer than the limits.
    TooLarge,
    /// The stream ended too early.
    CutOff,
    /// The stream failed.
    Stream(ErrorKind),
}

impl fmt::Display for GetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GetError::Input => {
                f.write_str("a host is HOST or HOST:PORT, a target a /path?query in ASCII without spaces")
            }
            GetError::Head(line) => write!(f, "the response is not HTTP/1.1: {line}"),
            GetError::Chunk => f.write_str("the response is broken: a chunk is its size in hexadecimal, CR LF, that many bytes, CR LF"),
            GetError::TooLarge => f.write_str("the response is longer than the limits allow"),
            GetError::CutOff => f.write_str("the response was cut off"),
            GetError::Stream(ErrorKind::TimedOut) => f.write_str("nothing came in time"),
            GetError::Stream(kind) => write!(f, "the stream failed: {kind:?}"),
        }
    }
}

impl core::error::Error for GetError {}

impl embedded_io::Error for GetError {
    fn kind(&self) -> ErrorKind {
        match self {
            GetError::Input => ErrorKind::InvalidInput,
            GetError::CutOff => ErrorKind::ConnectionAborted,
            GetError::Stream(kind) => *kind,
            GetError::Head(_) | GetError::Chunk | GetError::TooLarge => ErrorKind::InvalidData,
        }
    }
}

/// A response whose body is still to be read, through `embedded_io::Read`.
///
/// ```
/// use embedded_io::Read;
/// # fn f<S: Read>(mut reply: net::http::Reply<S>) -> Result<(), net::http::GetError> {
/// let mut piece = [0; 4096];
/// loop {
///     match reply.read(&mut piece)? {
///         0 => break, // all of it has come, or it would have been an error
///         n => print!("{}", piece[..n].escape_ascii()),
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Reply<'s, S> {
    stream: &'s mut S,
    input: Input,
    /// The head's bytes.
    head: Vec<u8>,
    fields: Vec<FieldAt>,
    status: u16,
    body: Left,
    /// Bytes of the body that may still come.
    budget: usize,
}

/// What is left of the body.
enum Left {
    Bytes(u64),
    Chunks(Chunks),
    ToEnd,
    Nothing,
}

/// Asks `host` (`HOST` or `HOST:PORT`) for `target` (`/path?query`) over a fresh connection to it, which ends with the response.
/// Of the limits, those for head, fields, body and chunks count. Redirections are not followed.
///
/// # Errors
/// See [`GetError`].
///
/// ```
/// use embedded_io::{Read, Write};
/// # fn f<S: Read + Write>(mut stream: S) -> Result<(), net::http::GetError> {
/// let mut reply = net::http::get(&mut stream, "example.org", "/", &Default::default())?;
/// println!("{} {:?}", reply.status(), reply.fields().get("content-type"));
/// let body = reply.read_to_end()?;
/// # Ok(()) }
/// ```
pub fn get<'s, S: Read + Write>(
    stream: &'s mut S,
    host: &str,
    target: &str,
    limits: &Limits,
) -> Result<Reply<'s, S>, GetError> {
    let limits = limits.sane();
    let fine = target.starts_with('/') && Target::parse(target).is_some();
    if !fine || host.is_empty() || !is_host(host.as_bytes()) {
        return Err(GetError::Input);
    }
    let parts = [
        "GET ",
        target,
        " HTTP/1.1\r\nHost: ",
        host,
        "\r\nUser-Agent: ringo\r\nConnection: close\r\n\r\n",
    ];
    send(stream, parts.concat().as_bytes())?;
    let mut reply = Reply {
        stream,
        input: Input::new(),
        head: Vec::new(),
        fields: Vec::new(),
        status: 0,
        body: Left::Nothing,
        budget: limits.body_bytes,
    };
    for _ in 0..INTERIM_MOST {
        reply.read_head(&limits)?;
        if reply.status >= 200 {
            return Ok(reply);
        }
    }
    Err(GetError::Head("one final response follows those below 200"))
}

fn send<S: Write>(stream: &mut S, mut bytes: &[u8]) -> Result<(), GetError> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(GetError::Stream(ErrorKind::WriteZero)),
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(GetError::Stream(error.kind())),
        }
    }
    stream
        .flush()
        .map_err(|error| GetError::Stream(error.kind()))
}

impl<S: Read> Reply<'_, S> {
    /// The status: 200 to 999.
    ///
    /// ```
    /// # fn f<S: embedded_io::Read>(reply: net::http::Reply<S>) {
    /// assert_eq!(reply.status(), 200);
    /// # }
    /// ```
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The header fields.
    ///
    /// ```
    /// # fn f<S: embedded_io::Read>(reply: net::http::Reply<S>) {
    /// let kind = reply.fields().get("content-type");
    /// # let _ = kind; }
    /// ```
    pub fn fields(&self) -> Fields<'_> {
        Fields {
            head: &self.head,
            at: &self.fields,
        }
    }

    /// Bytes of the body that are still to come, if that was said.
    ///
    /// ```
    /// # fn f<S: embedded_io::Read>(reply: net::http::Reply<S>) {
    /// if let Some(bytes) = reply.len() {
    ///     log::info!("{bytes} bytes");
    /// }
    /// # }
    /// ```
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> Option<u64> {
        match self.body {
            Left::Bytes(left) => Some(left),
            Left::Nothing => Some(0),
            Left::Chunks(_) | Left::ToEnd => None,
        }
    }

    /// The whole body, in memory.
    ///
    /// # Errors
    /// See [`GetError`].
    ///
    /// ```
    /// # fn f<S: embedded_io::Read>(mut reply: net::http::Reply<S>) -> Result<(), net::http::GetError> {
    /// let body: Vec<u8> = reply.read_to_end()?;
    /// # Ok(()) }
    /// ```
    pub fn read_to_end(&mut self) -> Result<Vec<u8>, GetError> {
        let (mut body, mut room) = (Vec::new(), [0; 1024]);
        loop {
            match self.read(&mut room)? {
                0 => return Ok(body),
                n => body.extend_from_slice(&room[..n]),
            }
        }
    }

    /// Reads and takes apart the next head.
    fn read_head(&mut self, limits: &Limits) -> Result<(), GetError> {
        let limits = Limits {
            line_bytes: limits.head_bytes,
            ..*limits
        };
        let mut scan = Scan::default();
        let len = loop {
            match scan.advance(self.input.bytes(), &limits) {
                Ok(Some(len)) => break len,
                Ok(None) => {}
                Err(Refusal::LineTooLong | Refusal::HeadTooLarge) => {
                    return Err(GetError::TooLarge);
                }
                Err(reason) => return Err(GetError::Head(reason.line())),
            }
            self.more(limits.head_bytes + 1)?;
        };
        self.head.clear();
        self.head.extend_from_slice(&self.input.bytes()[..len]);
        self.input.consume(len);
        let framing = self.parse(&limits)?;
        self.body = match framing {
            _ if matches!(self.status, 100..=199 | 204 | 304) => Left::Nothing,
            BodyEnd::Length(0) => Left::Nothing,
            BodyEnd::Length(len) if len > self.budget as u64 => return Err(GetError::TooLarge),
            BodyEnd::Length(len) => Left::Bytes(len),
            BodyEnd::Chunked => Left::Chunks(Chunks::new(limits.extra_bytes)),
            BodyEnd::Unsaid => Left::ToEnd,
        };
        Ok(())
    }

    fn parse(&mut self, limits: &Limits) -> Result<BodyEnd, GetError> {
        let mut room = [const { MaybeUninit::uninit() }; Limits::FIELDS_MOST];
        let mut response = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let room = &mut room[..limits.fields];
        match config.parse_response_with_uninit_headers(&mut response, &self.head, room) {
            Ok(httparse::Status::Complete(len)) if len == self.head.len() => {}
            Err(httparse::Error::TooManyHeaders) => return Err(GetError::TooLarge),
            _ => {
                return Err(GetError::Head(
                    "it begins with HTTP/1.1 SP STATUS SP PHRASE, then NAME: VALUE lines",
                ));
            }
        }
        self.status = response.code.unwrap_or_default();
        let version = match response.version {
            Some(0) => Version::Http10,
            _ => Version::Http11,
        };
        let mut framing = Framing::default();
        self.fields.clear();
        for field in response.headers.iter() {
            let value = trim(field.value);
            debug_assert!(value.iter().copied().all(is_value));
            if field.name.eq_ignore_ascii_case("content-length") {
                framing
                    .content_length(value)
                    .map_err(|reason| GetError::Head(reason.line()))?;
            } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
                framing.transfer_encoding(value);
            }
            self.fields.push(FieldAt {
                name: Span::of(&self.head, field.name.as_bytes()),
                value: Span::of(&self.head, value),
            });
        }
        if !(100..1000).contains(&self.status) {
            return Err(GetError::Head("a status has three digits, from 100"));
        }
        framing
            .body_end(version)
            .map_err(|reason| GetError::Head(reason.line()))
    }

    fn more(&mut self, most: usize) -> Result<(), GetError> {
        match self.input.fill(self.stream, most) {
            Ok(0) => Err(GetError::CutOff),
            Ok(_) => Ok(()),
            Err(kind) => Err(GetError::Stream(kind)),
        }
    }

    /// Up to `most` bytes as they come, 0 at the stream's end: first those that lie behind the head.
    fn plain(&mut self, out: &mut [u8], most: u64) -> Result<usize, GetError> {
        let most = most.min(out.len() as u64) as usize;
        let out = &mut out[..most];
        if self.input.len() > 0 {
            let n = most.min(self.input.len());
            out[..n].copy_from_slice(&self.input.bytes()[..n]);
            self.input.consume(n);
            return Ok(n);
        }
        loop {
            match self.stream.read(out) {
                Ok(n) => return Ok(n.min(most)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(GetError::Stream(error.kind())),
            }
        }
    }

    /// The same out of chunks; 0 at their end.
    fn out_of_chunks(&mut self, out: &mut [u8]) -> Result<usize, GetError> {
        loop {
            let Left::Chunks(chunks) = &mut self.body else {
                return Ok(0);
            };
            let mut at = 0;
            // Never more than there is room for.
            let there = &self.input.bytes()[..self.input.len().min(out.len())];
            let event = chunks.next(there, &mut at).map_err(|error| match error {
                ChunkError::Syntax => GetError::Chunk,
                ChunkError::Extra => GetError::TooLarge,
            })?;
            let mut got = 0;
            if let Event::Data(range) = &event {
                got = range.len();
                out[..got].copy_from_slice(&there[range.clone()]);
            }
            self.input.consume(at);
            match event {
                Event::Size(size) if size > self.budget as u64 => return Err(GetError::TooLarge),
                Event::Size(size) => self.budget -= size as usize,
                Event::Data(_) => return Ok(got),
                Event::More if self.input.len() == 0 => self.more(BODY_BUFFER)?,
                Event::More => {}
                Event::End => {
                    self.body = Left::Nothing;
                    return Ok(0);
                }
            }
        }
    }
}

impl<S: Read> ErrorType for Reply<'_, S> {
    type Error = GetError;
}

impl<S: Read> Read for Reply<'_, S> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize, GetError> {
        if out.is_empty() {
            return Ok(0);
        }
        match self.body {
            Left::Nothing => Ok(0),
            Left::Chunks(_) => self.out_of_chunks(out),
            Left::Bytes(left) => {
                let n = self.plain(out, left)?;
                self.body = match left - n as u64 {
                    _ if n == 0 => return Err(GetError::CutOff),
                    0 => Left::Nothing,
                    left => Left::Bytes(left),
                };
                Ok(n)
            }
            Left::ToEnd => {
                let n = self.plain(out, u64::MAX)?;
                self.budget = self.budget.checked_sub(n).ok_or(GetError::TooLarge)?;
                if n == 0 {
                    self.body = Left::Nothing;
                }
                Ok(n)
            }
        }
    }
}
