//! The head of a request: `httparse` takes it apart, and here is what else has to hold.

use super::bytes::{Span, elements, trim};
use super::fields::{FieldAt, Fields};
use super::framing::{BodyEnd, Framing, Version};
use super::limits::Limits;
use super::method::Method;
use super::refusal::Refusal;
use super::target::{Target, is_host};
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use httparse::{Error, Status};

/// A head, by places in the buffer. One for a connection: its memory is used again.
pub(crate) struct Head {
    pub method: Method,
    pub version: Version,
    pub target: Span,
    pub path: Span,
    pub query: Option<Span>,
    pub host: Option<Span>,
    pub body: BodyEnd,
    pub keep_alive: bool,
    pub expects_continue: bool,
    fields: Vec<FieldAt>,
}

/// What is gathered while fields are looked at.
#[derive(Default)]
struct Seen<'h> {
    framing: Framing,
    hosts: u32,
    host: Option<&'h [u8]>,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
    expects_other: bool,
}

impl Head {
    pub fn new() -> Head {
        Head {
            method: Method::Get,
            version: Version::Http11,
            target: Span::default(),
            path: Span::default(),
            query: None,
            host: None,
            body: BodyEnd::Unsaid,
            keep_alive: false,
            expects_continue: false,
            fields: Vec::new(),
        }
    }

    pub fn fields<'a>(&'a self, head: &'a [u8]) -> Fields<'a> {
        Fields {
            head,
            at: &self.fields,
        }
    }

    /// Takes `bytes` apart: a whole head, as [`Scan`](super::scan::Scan) found it.
    pub fn parse(&mut self, bytes: &[u8], limits: &Limits) -> Result<(), Refusal> {
        // What is known of it at a refusal.
        (self.method, self.version) = (Method::Get, Version::Http11);
        let mut room = [const { MaybeUninit::uninit() }; Limits::FIELDS_MOST];
        let mut request = httparse::Request::new(&mut []);
        match request.parse_with_uninit_headers(bytes, &mut room[..limits.fields]) {
            // Two that disagree about the end of a head are how requests are smuggled.
            Ok(Status::Complete(len)) if len == bytes.len() => {}
            Ok(_) => return Err(Refusal::RequestLine),
            Err(Error::TooManyHeaders) => return Err(Refusal::TooManyFields),
            Err(Error::HeaderName | Error::HeaderValue) => return Err(Refusal::Field),
            Err(Error::Version) if has_other_version(bytes) => return Err(Refusal::Version),
            Err(_) => return Err(Refusal::RequestLine),
        }
        let line = (request.method, request.path, request.version);
        let (Some(method), Some(target), Some(version)) = line else {
            return Err(Refusal::RequestLine);
        };
        self.version = match version {
            0 => Version::Http10,
            _ => Version::Http11,
        };
        self.method = Method::parse(method).ok_or(Refusal::Method)?;
        let host = self.parse_target(bytes, target)?;
        let mut seen = Seen {
            host,
            ..Seen::default()
        };
        self.fields.clear();
        for field in request.headers.iter() {
            let value = trim(field.value);
            seen.field(field.name, value)?;
            self.fields.push(FieldAt {
                name: Span::of(bytes, field.name.as_bytes()),
                value: Span::of(bytes, value),
            });
        }
        self.settle(bytes, &seen, limits)
    }

    /// The authority, if the target has one.
    fn parse_target<'h>(
        &mut self,
        bytes: &[u8],
        target: &'h str,
    ) -> Result<Option<&'h [u8]>, Refusal> {
        let parts = Target::parse(target).ok_or(Refusal::Target)?;
        if parts.path == "*" && self.method != Method::Options {
            return Err(Refusal::Target);
        }
        let span = |part: &str| Span::of(bytes, part.as_bytes());
        self.target = span(target);
        self.path = span(parts.path);
        self.query = parts.query.map(span);
        Ok(parts.authority.map(str::as_bytes))
    }

    fn settle(&mut self, bytes: &[u8], seen: &Seen<'_>, limits: &Limits) -> Result<(), Refusal> {
        let is_new = self.version == Version::Http11;
        if seen.hosts > 1 {
            return Err(Refusal::Host);
        }
        if is_new && seen.hosts == 0 {
            return Err(Refusal::NoHost);
        }
        self.host = seen.host.map(|host| Span::of(bytes, host));
        self.body = seen.framing.body_end(self.version)?;
        self.keep_alive = !seen.close && (is_new || seen.keep_alive);
        if is_new && seen.expects_other {
            return Err(Refusal::Expectation);
        }
        self.expects_continue = is_new && seen.expects_continue;
        match self.body {
            BodyEnd::Length(len) if len > limits.body_bytes as u64 => Err(Refusal::BodyTooLarge),
            _ => Ok(()),
        }
    }
}

impl<'h> Seen<'h> {
    fn field(&mut self, name: &str, value: &'h [u8]) -> Result<(), Refusal> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.len() {
            4 if is("host") => {
                self.hosts += 1;
                if !is_host(value) {
                    return Err(Refusal::Host);
                }
                self.host = self.host.or(Some(value));
            }
            6 if is("expect") => match value.eq_ignore_ascii_case(b"100-continue") {
                true => self.expects_continue = true,
                false => self.expects_other = true,
            },
            10 if is("connection") => {
                for option in elements(value) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if is("content-length") => self.framing.content_length(value)?,
            17 if is("transfer-encoding") => self.framing.transfer_encoding(value),
            _ => {}
        }
        Ok(())
    }
}

/// Are there three words in the first line, and is the last a version that could be one, if not ours?
fn has_other_version(head: &[u8]) -> bool {
    let mut lines = head.split(|&b| b == b'\n');
    let line = lines.find(|line| *line != b"\r").unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.split(|&b| b == b' ').skip(2);
    let (Some(version), None) = (words.next(), words.next()) else {
        return false;
    };
    match version.strip_prefix(b"HTTP/") {
        Some([major, b'.', minor]) => major.is_ascii_digit() && minor.is_ascii_digit(),
        _ => false,
    }
}
