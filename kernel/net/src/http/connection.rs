//! One connection, from its first byte to its last.
//!
//! ```text
//!      ┌──────────────────────────── keep-alive, pipelined ─────────────────────────┐
//!      ▼                                                                            │
//!   Idle ── a byte ─► Head ── its end ─► Body ── its end ─► handler ─► Response ────┤
//!    │ end, idle time  │ limits, time,     │ the same                    │ failed   │ close, shutdown,
//!    │ over, shutdown  ▼ syntax            ▼                             ▼          ▼ limit of requests
//!    └──────────────► End ◄── Refused: status and line, then linger ◄────┴──────────┘
//! ```

use super::chunked::{ChunkError, Chunks, Event};
use super::counters::add;
use super::framing::{BodyEnd, Version};
use super::handler::Handler;
use super::head::Head;
use super::input::Input;
use super::method::Method;
use super::output::Output;
use super::refusal::Refusal;
use super::request::Request;
use super::response::Response;
use super::scan::Scan;
use super::server::{End, Server};
use super::stream::{Side, Sink, Stream, Timed};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use embedded_io::ErrorKind;

/// What is read behind a chunked body's bytes at a time, at least.
const BESIDE_CHUNKS: usize = 2048;

pub(crate) struct Connection<'c, S, H> {
    server: &'c Server<H>,
    stream: &'c mut S,
    peer: SocketAddr,
    shutdown: &'c dyn Fn() -> bool,
    input: Input,
    output: Output,
    head: Head,
    fields: Vec<u8>,
    /// Is there a limit of time for reading?
    limited: bool,
    pub requests: u64,
}

/// A body that is all there.
struct Whole {
    len: usize,
    /// Where the next request begins.
    next: usize,
    /// False: it was not wanted, and is not there.
    admitted: bool,
}

impl<'c, S: Stream, H: Handler> Connection<'c, S, H> {
    pub fn new(
        server: &'c Server<H>,
        stream: &'c mut S,
        peer: SocketAddr,
        shutdown: &'c dyn Fn() -> bool,
    ) -> Self {
        Connection {
            server,
            stream,
            peer,
            shutdown,
            input: Input::new(),
            output: Output::new(),
            head: Head::new(),
            fields: Vec::with_capacity(128),
            limited: false,
            requests: 0,
        }
    }

    pub fn run(&mut self) -> End {
        let end = loop {
            if let Err(end) = self.exchange() {
                break end;
            }
        };
        match end {
            End::Refused(_) | End::Asked | End::Shutdown => self.close(end),
            End::PeerClosed | End::Idle | End::Failed => self.flush().err().unwrap_or(end),
            End::Broken(_) => end,
        }
    }

    /// One request and its response.
    fn exchange(&mut self) -> Result<(), End> {
        let limits = &self.server.limits;
        let len = self.await_head()?;
        let parsed = self.head.parse(&self.input.bytes()[..len], limits);
        parsed.map_err(|reason| self.refuse(reason))?;
        let body = self.read_body(len)?;
        self.requests += 1;
        add(&self.server.counters.requests);
        let goes_on = self.respond(len, &body)?;
        self.input.consume(body.next);
        if !goes_on {
            return Err(End::Asked);
        }
        match self.server.coalesce {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// The length of the next head, when it is all there.
    fn await_head(&mut self) -> Result<usize, End> {
        let server = self.server;
        // Not the last request's, should this one be refused.
        self.head.method = Method::Get;
        let mut scan = Scan::default();
        let mut timed = false;
        loop {
            let found = scan.advance(self.input.bytes(), &server.limits);
            if let Some(len) = found.map_err(|reason| self.refuse(reason))? {
                return Ok(len);
            }
            let is_idle = self.input.len() == 0;
            self.flush()?;
            if is_idle && self.requests > 0 {
                self.read_within(server.timeouts.idle);
                // Asked last: whoever begins the end later than this finds the limit set, and what it sets instead stays.
                if (self.shutdown)() {
                    return Err(End::Shutdown);
                }
            } else if !timed {
                // The first request is awaited beyond the server's end too: who has just connected may have sent it already.
                self.read_within(server.timeouts.head);
                timed = true;
            }
            match self.input.fill(self.stream, server.limits.head_bytes + 1) {
                Ok(0) if is_idle => return Err(End::PeerClosed),
                Ok(0) => return Err(self.refuse(Refusal::HeadCutOff)),
                Ok(_) => {}
                Err(ErrorKind::TimedOut) if is_idle && (self.shutdown)() => {
                    return Err(End::Shutdown);
                }
                Err(ErrorKind::TimedOut) if is_idle => {
                    add(&server.counters.idle);
                    return Err(End::Idle);
                }
                Err(ErrorKind::TimedOut) => return Err(self.refuse(Refusal::HeadTimeout)),
                Err(kind) => return Err(self.broken(kind)),
            }
        }
    }

    /// Reads the body to its end, behind the head.
    fn read_body(&mut self, head: usize) -> Result<Whole, End> {
        let none = Whole {
            len: 0,
            next: head,
            admitted: true,
        };
        let is_there = match self.head.body {
            BodyEnd::Unsaid | BodyEnd::Length(0) => return Ok(none),
            BodyEnd::Length(len) => self.input.len() as u64 - head as u64 >= len,
            BodyEnd::Chunked => self.input.len() > head,
        };
        if self.head.expects_continue && !is_there {
            let request = request(&self.head, &self.input, self.peer, head, 0);
            if !self.server.handler.admit(&request) {
                return Ok(Whole {
                    admitted: false,
                    ..none
                });
            }
            self.put(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        match self.head.body {
            BodyEnd::Length(len) => self.read_sized(head, len as usize),
            _ => self.read_chunked(head),
        }
    }

    fn read_sized(&mut self, head: usize, len: usize) -> Result<Whole, End> {
        let next = head + len;
        let mut timed = false;
        while self.input.len() < next {
            self.more_body(next, &mut timed)?;
        }
        Ok(Whole {
            len,
            next,
            admitted: true,
        })
    }

    /// The same for chunks, whose bytes are moved together.
    fn read_chunked(&mut self, head: usize) -> Result<Whole, End> {
        let limits = &self.server.limits;
        let mut chunks = Chunks::new(limits.extra_bytes);
        let (mut at, mut len) = (head, 0);
        let mut timed = false;
        loop {
            match chunks.next(self.input.bytes(), &mut at) {
                Ok(Event::Size(size)) if size > (limits.body_bytes - len) as u64 => {
                    return Err(self.refuse(Refusal::BodyTooLarge));
                }
                Ok(Event::Size(_)) => {}
                Ok(Event::Data(range)) => {
                    self.input.move_down(range.start, range.len(), head + len);
                    len += range.len();
                }
                Ok(Event::More) => {
                    // Nothing is behind the body but framing, which is used up.
                    at = head + len;
                    self.input.truncate(at);
                    self.more_body(at + BESIDE_CHUNKS, &mut timed)?;
                }
                Ok(Event::End) => {
                    return Ok(Whole {
                        len,
                        next: at,
                        admitted: true,
                    });
                }
                Err(ChunkError::Syntax) => return Err(self.refuse(Refusal::Chunk)),
                Err(ChunkError::Extra) => return Err(self.refuse(Refusal::ChunkExtra)),
            }
        }
    }

    fn more_body(&mut self, most: usize, timed: &mut bool) -> Result<(), End> {
        self.flush()?;
        if !*timed {
            self.read_within(self.server.timeouts.body);
            *timed = true;
        }
        match self.input.fill(self.stream, most) {
            Ok(0) => Err(self.refuse(Refusal::BodyCutOff)),
            Ok(_) => Ok(()),
            Err(ErrorKind::TimedOut) => Err(self.refuse(Refusal::BodyTimeout)),
            Err(kind) => Err(self.broken(kind)),
        }
    }

    /// Calls the handler: can the connection go on after it?
    fn respond(&mut self, head: usize, body: &Whole) -> Result<bool, End> {
        let server = self.server;
        let is_last = self.requests >= server.limits.requests;
        let close = is_last || !self.head.keep_alive || !body.admitted;
        let silent = self.head.method == Method::Head;
        let request = request(&self.head, &self.input, self.peer, head, body.len);
        let mut sink = Timed {
            stream: &mut *self.stream,
            within: server.timeouts.write,
        };
        let mut response =
            Response::new(&mut sink, &mut self.output, &mut self.fields, self.shutdown).to(
                silent,
                self.head.version == Version::Http10,
                close,
            );
        let result = match (request.method(), request.path()) {
            // About the server as a whole (RFC 9110, 9.3.7); no handler's.
            (Method::Options, "*") => Ok(()),
            _ => server.handler.handle(&request, &mut response),
        };
        match response.end(result) {
            Ok(goes_on) => Ok(goes_on),
            Err(Some(kind)) => Err(self.broken(kind)),
            Err(None) => {
                add(&server.counters.failed);
                Err(End::Failed)
            }
        }
    }

    /// Tells the peer what would be right.
    fn refuse(&mut self, reason: Refusal) -> End {
        self.server.counters.refuse(reason);
        let Some(status) = reason.status() else {
            return End::Refused(reason);
        };
        let silent = self.head.method == Method::Head;
        let mut sink = Timed {
            stream: &mut *self.stream,
            within: self.server.timeouts.write,
        };
        match refusal(
            &mut sink,
            &mut self.output,
            &mut self.fields,
            reason,
            status,
            silent,
        ) {
            Err(Some(kind)) => self.broken(kind),
            _ => End::Refused(reason),
        }
    }

    fn broken(&mut self, kind: ErrorKind) -> End {
        add(&self.server.counters.broken);
        End::Broken(kind)
    }

    /// Sends what is left. Where the peer may be sending still, what it sends is read for a while: a connection that is closed over
    /// unread bytes is reset, and the answer could be lost with it.
    fn close(&mut self, end: End) -> End {
        if let Err(broken) = self.flush() {
            return broken;
        }
        self.stream.close_write();
        let unread = matches!(end, End::Refused(reason) if reason.status().is_some())
            || self.input.len() > 0;
        if unread && self.server.limits.linger_bytes > 0 {
            self.read_within(self.server.timeouts.linger);
            let (mut dropped, mut room) = (0, [0; 512]);
            while dropped < self.server.limits.linger_bytes {
                match self.stream.read(&mut room) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => dropped += n,
                }
            }
        }
        end
    }

    fn read_within(&mut self, limit: Option<Duration>) {
        if limit.is_some() || self.limited {
            self.stream.deadline(Side::Read, limit);
            self.limited = limit.is_some();
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), End> {
        let mut sink = Timed {
            stream: &mut *self.stream,
            within: self.server.timeouts.write,
        };
        let put = self.output.put(&mut sink, bytes);
        put.map_err(|kind| self.broken(kind))
    }

    fn flush(&mut self) -> Result<(), End> {
        if self.output.is_empty() {
            return Ok(());
        }
        let mut sink = Timed {
            stream: &mut *self.stream,
            within: self.server.timeouts.write,
        };
        let flushed = self.output.flush(&mut sink);
        flushed.map_err(|kind| self.broken(kind))
    }
}

/// The request whose head and body are the first bytes of the input.
fn request<'a>(
    head: &'a Head,
    input: &'a Input,
    peer: SocketAddr,
    head_len: usize,
    body_len: usize,
) -> Request<'a> {
    let (bytes, rest) = input.bytes().split_at(head_len);
    Request {
        head,
        bytes,
        body: &rest[..body_len],
        peer,
        pattern: None,
    }
}

/// The response to a request that is refused.
pub(crate) fn refusal(
    sink: &mut dyn Sink,
    output: &mut Output,
    fields: &mut Vec<u8>,
    reason: Refusal,
    status: super::Status,
    silent: bool,
) -> Result<bool, Option<ErrorKind>> {
    let mut response = Response::new(sink, output, fields, &|| true).to(silent, false, true);
    let write = |response: &mut Response<'_>| {
        response.status(status);
        response.header("Content-Type", "text/plain")?;
        if reason == Refusal::Busy {
            response.header("Retry-After", "1")?;
        }
        let line = reason.line().as_bytes();
        let body = response.sized(line.len() as u64 + 1)?;
        body.response.piece(line)?;
        body.response.piece(b"\n")
    };
    let written = write(&mut response);
    response.end(written)
}
