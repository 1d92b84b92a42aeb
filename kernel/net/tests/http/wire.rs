//! A stream made by hand, and a strict reader of what was written to it.

use core::net::SocketAddr;
use core::time::Duration;
use embedded_io::{ErrorKind, ErrorType, Read, Write};
use net::http::{Side, Stream};
use std::collections::VecDeque;

/// What happened to a [`Wire`], in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Limit(Side, Option<Duration>),
    Read(usize),
    Wrote(usize),
    Closed,
}

/// Gives its pieces one by one, then its end; keeps what is written.
pub struct Wire {
    pieces: VecDeque<Vec<u8>>,
    /// What reading gives after the last piece; `None`: the stream's end.
    pub then: Option<ErrorKind>,
    pub written: Vec<u8>,
    /// Bytes that can still be written.
    pub room: usize,
    /// Bytes that a write takes at most.
    pub at_once: usize,
    /// After so many bytes one write fails, and those after it do not.
    pub fails_once: Option<usize>,
    pub seen: Vec<Seen>,
}

impl Wire {
    pub fn new<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Wire {
        let pieces = pieces.into_iter().map(|piece| piece.as_ref().to_vec());
        Wire {
            pieces: pieces.filter(|piece| !piece.is_empty()).collect(),
            then: None,
            written: Vec::new(),
            room: usize::MAX,
            at_once: usize::MAX,
            fails_once: None,
            seen: Vec::new(),
        }
    }

    pub fn then(mut self, error: ErrorKind) -> Wire {
        self.then = Some(error);
        self
    }

    /// What was written, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }

    pub fn unread(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }
}

impl ErrorType for Wire {
    type Error = ErrorKind;
}

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        assert!(!buf.is_empty(), "a read without room looks like the end");
        let Some(piece) = self.pieces.front_mut() else {
            return self.then.map_or(Ok(0), Err);
        };
        let n = piece.len().min(buf.len());
        buf[..n].copy_from_slice(&piece[..n]);
        piece.drain(..n);
        if piece.is_empty() {
            self.pieces.pop_front();
        }
        self.seen.push(Seen::Read(n));
        Ok(n)
    }
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        assert!(!buf.is_empty());
        if self.room == 0 {
            return Err(ErrorKind::BrokenPipe);
        }
        if self
            .fails_once
            .is_some_and(|after| self.written.len() + buf.len() > after)
        {
            self.fails_once = None;
            return Err(ErrorKind::TimedOut);
        }
        let n = buf.len().min(self.room).min(self.at_once);
        self.room -= n;
        self.written.extend_from_slice(&buf[..n]);
        self.seen.push(Seen::Wrote(n));
        Ok(n)
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

impl Stream for Wire {
    fn deadline(&mut self, side: Side, within: Option<Duration>) {
        self.seen.push(Seen::Limit(side, within));
    }

    fn close_write(&mut self) {
        self.seen.push(Seen::Closed);
    }
}

pub fn peer() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 7], 4711))
}

/// A response as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut same = self.fields.iter().filter(|(other, _)| other == name);
        let first = same.next().map(|(_, value)| value.as_str());
        assert!(same.next().is_none(), "{name} twice in {self:?}");
        first
    }
}

/// Reads an answer at the beginning of `bytes` and says how long it is; `Err`: what is wrong with it. Knows what the server may write
/// and nothing more: it shares no code with it.
pub fn answer(bytes: &[u8], to_head: bool) -> Result<(Answer, usize), String> {
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or("a head without end")?;
    let head = core::str::from_utf8(&bytes[..end]).map_err(|_| "a head that is not UTF-8")?;
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let status = line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse().ok());
    let status: u16 = status.ok_or(format!("status line {line:?}"))?;
    let mut answer = Answer {
        status,
        fields: Vec::new(),
        body: Vec::new(),
    };
    for line in lines {
        let (name, value) = line.split_once(": ").ok_or(format!("field {line:?}"))?;
        if line.contains(['\r', '\n', '\0']) {
            return Err(format!("field {line:?}"));
        }
        answer.fields.push((name.into(), value.into()));
    }
    let mut rest = &bytes[end + 4..];
    if status == 100 || status == 204 || status == 304 || to_head {
        return Ok((answer, bytes.len() - rest.len()));
    }
    if answer.field("Transfer-Encoding") == Some("chunked") {
        loop {
            let line = rest
                .windows(2)
                .position(|two| two == b"\r\n")
                .ok_or("a chunk without size")?;
            let size = core::str::from_utf8(&rest[..line])
                .ok()
                .and_then(|size| usize::from_str_radix(size, 16).ok());
            let size = size.ok_or("a chunk's size")?;
            rest = &rest[line + 2..];
            let chunk = rest.get(..size + 2).ok_or("a chunk that is cut off")?;
            if !chunk.ends_with(b"\r\n") {
                return Err("a chunk without end".into());
            }
            answer.body.extend_from_slice(&chunk[..size]);
            rest = &rest[size + 2..];
            if size == 0 {
                return Ok((answer, bytes.len() - rest.len()));
            }
        }
    }
    let len = match answer.field("Content-Length") {
        Some(len) => len.parse().map_err(|_| "a length")?,
        None if answer.field("Connection") == Some("close") => rest.len(),
        None => return Err("a body without end".into()),
    };
    answer.body = rest.get(..len).ok_or("a body that is cut off")?.to_vec();
    rest = &rest[len..];
    Ok((answer, bytes.len() - rest.len()))
}

/// All answers; none of them to HEAD.
pub fn answers(mut bytes: &[u8]) -> Result<Vec<Answer>, String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (one, len) = answer(bytes, false)
            .map_err(|why| format!("{why}: {:?}", bytes.escape_ascii().to_string()))?;
        all.push(one);
        bytes = &bytes[len..];
    }
    Ok(all)
}
