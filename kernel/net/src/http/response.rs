//! What a handler answers.
//!
//! ```text
//!            body                                    all bytes written
//!   Fresh ─────────────────────────────────────────────────────► Done
//!     │ sized ─────► Sized(left) ──────────────────────────────► ▲
//!     │ chunked ───► Chunked │ UntilClose (HTTP/1.0) ── finish ──┘
//! ```

use super::body::Body;
use super::bytes::{decimal, hexadecimal, is_token, is_value};
use super::error::{Error, Result};
use super::output::Output;
use super::status::Status;
use super::stream::Sink;
use alloc::vec::Vec;
use embedded_io::ErrorKind;

/// Where a response stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    Sized(u64),
    Chunked,
    UntilClose,
    Done,
}

/// The response that is being made. Status and fields first, then one of [`body`](Response::body), [`sized`](Response::sized),
/// [`chunked`](Response::chunked). The server adds what frames it, leaves bodies away after HEAD, and adds no date: the same requests
/// give the same bytes.
///
/// ```
/// use net::http::{Request, Response, Result, Status};
/// fn handler(_: &Request, response: &mut Response) -> Result {
///     response.status(Status::CREATED);
///     response.header("Content-Type", "text/plain")?.header("Location", "/things/7")?;
///     response.body(b"made\n")
/// }
/// ```
pub struct Response<'a> {
    sink: &'a mut dyn Sink,
    output: &'a mut Output,
    fields: &'a mut Vec<u8>,
    shutdown: &'a dyn Fn() -> bool,
    status: Status,
    state: State,
    /// After HEAD.
    silent: bool,
    /// For a client that knows no chunks and has to be told that its connection is kept.
    is_old: bool,
    close: bool,
}

/// Fields that only the server may set.
const FRAMING: [&str; 6] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "trailer",
];

/// How a body's end is told to the peer.
enum Frame {
    None,
    Length(u64),
    Chunked,
}

impl<'a> Response<'a> {
    pub(crate) fn new(
        sink: &'a mut dyn Sink,
        output: &'a mut Output,
        fields: &'a mut Vec<u8>,
        shutdown: &'a dyn Fn() -> bool,
    ) -> Response<'a> {
        fields.clear();
        Response {
            sink,
            output,
            fields,
            shutdown,
            status: Status::OK,
            state: State::Fresh,
            silent: false,
            is_old: false,
            close: false,
        }
    }

    /// What the request says about its response.
    pub(crate) fn to(mut self, silent: bool, is_old: bool, close: bool) -> Response<'a> {
        (self.silent, self.is_old, self.close) = (silent, is_old, close);
        self
    }

    /// Sets the status; 200 if never called.
    ///
    /// ```
    /// # fn f(response: &mut net::http::Response) -> net::http::Result {
    /// response.status(net::http::Status::ACCEPTED).body(b"later\n")
    /// # }
    /// ```
    pub fn status(&mut self, status: Status) -> &mut Self {
        self.status = status;
        self
    }

    /// Adds a header field.
    ///
    /// # Errors
    /// [`Error::Field`] if name or value would be more than a field, or the field frames the message; [`Error::Begun`].
    ///
    /// ```
    /// # fn f(response: &mut net::http::Response) -> net::http::Result {
    /// response.header("Cache-Control", "no-store")?;
    /// assert!(response.header("X", "1\r\nSet-Cookie: stolen").is_err());
    /// # Ok(()) }
    /// ```
    pub fn header(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<&mut Self> {
        self.field(name, &[value.as_ref()])?;
        Ok(self)
    }

    /// A field whose value is a list.
    pub(crate) fn field(&mut self, name: &str, values: &[&[u8]]) -> Result {
        if self.state != State::Fresh {
            return Err(Error::Begun);
        }
        let is_framing = |other: &&str| name.eq_ignore_ascii_case(other);
        let fine = !name.is_empty()
            && name.bytes().all(is_token)
            && values.iter().copied().flatten().all(|&b| is_value(b))
            && !FRAMING.iter().any(is_framing);
        if !fine {
            return Err(Error::Field);
        }
        self.fields.extend_from_slice(name.as_bytes());
        self.fields.extend_from_slice(b": ");
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                self.fields.extend_from_slice(b", ");
            }
            self.fields.extend_from_slice(value);
        }
        self.fields.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Ends the connection after this response.
    ///
    /// ```
    /// # fn f(response: &mut net::http::Response) -> net::http::Result {
    /// response.close().body(b"good bye\n")
    /// # }
    /// ```
    pub fn close(&mut self) -> &mut Self {
        self.close = true;
        self
    }

    /// Sends the body, whose length is known. A body that does not fit beside the head goes to the stream from where it lies.
    ///
    /// # Errors
    /// [`Error::Begun`], [`Error::Length`] where the status allows no body, [`Error::Stream`].
    ///
    /// ```
    /// # fn f(response: &mut net::http::Response) -> net::http::Result {
    /// response.body(b"hello\n")
    /// # }
    /// ```
    pub fn body(&mut self, body: impl AsRef<[u8]>) -> Result {
        let body = body.as_ref();
        self.begin(Frame::Length(body.len() as u64))?;
        self.state = State::Done;
        match self.silent {
            true => Ok(()),
            false => Ok(self.output.put(self.sink, body)?),
        }
    }

    /// Begins a body of `len` bytes, which are then written.
    ///
    /// # Errors
    /// As [`body`](Response::body). If fewer are written, the connection ends; more are refused.
    ///
    /// ```
    /// use embedded_io::Write;
    /// # fn f(response: &mut net::http::Response) -> net::http::Result {
    /// let mut body = response.sized(6)?;
    /// body.write_all(b"hel")?;
    /// body.write_all(b"lo\n")
    /// # }
    /// ```
    pub fn sized(&mut self, len: u64) -> Result<Body<'_, 'a>> {
        self.begin(Frame::Length(len))?;
        self.state = match len {
            0 => State::Done,
            _ => State::Sized(len),
        };
        Ok(Body { response: self })
    }

    /// Begins a body of unknown length: each write is a chunk. It ends when the handler returns `Ok`, or with
    /// [`Body::finish`]. A client of HTTP/1.0 gets the bytes as they are, and the connection ends.
    ///
    /// # Errors
    /// As [`body`](Response::body).
    ///
    /// ```
    /// use embedded_io::Write;
    /// # fn f(response: &mut net::http::Response) -> net::http::Result {
    /// let mut body = response.chunked()?;
    /// for i in 0..10 {
    ///     write!(body, "line {i}\n").map_err(|_| net::http::Error::Length)?;
    /// }
    /// body.finish()
    /// # }
    /// ```
    pub fn chunked(&mut self) -> Result<Body<'_, 'a>> {
        if self.is_old {
            self.close = true;
            self.begin(Frame::None)?;
            self.state = State::UntilClose;
        } else {
            self.begin(Frame::Chunked)?;
            self.state = State::Chunked;
        }
        Ok(Body { response: self })
    }

    /// Status line and fields go out.
    fn begin(&mut self, frame: Frame) -> Result {
        if self.state != State::Fresh {
            return Err(Error::Begun);
        }
        let is_empty = matches!(frame, Frame::Length(0));
        if !self.status.has_body() && !is_empty {
            return Err(Error::Length);
        }
        self.close |= (self.shutdown)();
        let mut room = [0; 20];
        self.put(b"HTTP/1.1 ")?;
        self.put(decimal(u64::from(self.status.code()), &mut room))?;
        self.put(b" ")?;
        self.put(self.status.phrase().as_bytes())?;
        self.put(b"\r\n")?;
        self.output.put(self.sink, self.fields)?;
        match frame {
            Frame::Length(len) if self.status.has_body() => {
                self.put(b"Content-Length: ")?;
                self.put(decimal(len, &mut room))?;
                self.put(b"\r\n")?;
            }
            Frame::Chunked => self.put(b"Transfer-Encoding: chunked\r\n")?,
            Frame::Length(_) | Frame::None => {}
        }
        self.put(match (self.close, self.is_old) {
            (true, _) => b"Connection: close\r\n\r\n",
            (false, true) => b"Connection: keep-alive\r\n\r\n",
            (false, false) => b"\r\n",
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result {
        Ok(self.output.put(self.sink, bytes)?)
    }

    /// A piece of a body that has begun.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> Result {
        let len = bytes.len() as u64;
        match self.state {
            _ if bytes.is_empty() => return Ok(()),
            State::Sized(left) if len <= left => {
                self.state = match left - len {
                    0 => State::Done,
                    left => State::Sized(left),
                }
            }
            State::Chunked | State::UntilClose => {}
            State::Sized(_) | State::Done | State::Fresh => return Err(Error::Length),
        }
        if self.silent {
            return Ok(());
        }
        if self.state != State::Chunked {
            return self.put(bytes);
        }
        let mut room = [0; 16];
        self.put(hexadecimal(len, &mut room))?;
        self.put(b"\r\n")?;
        self.put(bytes)?;
        self.put(b"\r\n")
    }

    pub(crate) fn flush(&mut self) -> Result {
        Ok(self.output.flush(self.sink)?)
    }

    /// The body is whole.
    pub(crate) fn finish(&mut self) -> Result {
        match self.state {
            State::Fresh => return self.body(b""),
            State::Chunked if !self.silent => self.put(b"0\r\n\r\n")?,
            State::Sized(_) if !self.silent => return Err(Error::Length),
            _ => {}
        }
        self.state = State::Done;
        Ok(())
    }

    /// The handler is done: `true` if the connection can go on.
    ///
    /// # Errors
    /// The response is not whole, and cannot be made so.
    pub(crate) fn end(mut self, result: Result) -> core::result::Result<bool, Option<ErrorKind>> {
        let stream = |error: Error| match error {
            Error::Stream(kind) => Some(kind),
            _ => None,
        };
        match result {
            // A handler may have gone on after an error of the stream.
            Ok(()) => self.finish().and_then(|()| self.put(b"")).map_err(stream)?,
            Err(error) if self.state == State::Fresh && stream(error).is_none() => {
                self.fail(error.status()).map_err(stream)?
            }
            Err(error) => return Err(stream(error)),
        }
        Ok(!self.close)
    }

    /// Nothing but the status, in words.
    fn fail(&mut self, status: Status) -> Result {
        self.fields.clear();
        self.status = status;
        if !status.has_body() {
            return self.body(b"");
        }
        self.header("Content-Type", "text/plain")?;
        let phrase = status.phrase();
        let body = self.sized(phrase.len() as u64 + 1)?;
        body.response.piece(phrase.as_bytes())?;
        body.response.piece(b"\n")
    }
}
