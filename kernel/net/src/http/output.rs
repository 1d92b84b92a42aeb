//! What is to be sent: small pieces are gathered, large ones go from where they lie.

use super::stream::Sink;
use alloc::vec::Vec;
use embedded_io::ErrorKind;

/// Bytes that are gathered: a head and a small body leave in one segment.
const GATHERED: usize = 4096;

pub(crate) struct Output {
    buf: Vec<u8>,
    /// The stream failed. What it took is not known, so nothing goes out any more, even if whoever saw the error goes on.
    broken: Option<ErrorKind>,
}

impl Output {
    pub fn new() -> Output {
        Output {
            buf: Vec::with_capacity(512),
            broken: None,
        }
    }

    pub fn put(&mut self, sink: &mut dyn Sink, bytes: &[u8]) -> Result<(), ErrorKind> {
        if self.buf.len() + bytes.len() > GATHERED {
            self.send(sink)?;
            if bytes.len() > GATHERED / 2 {
                return self.kept(sink.write_all(bytes));
            }
        }
        self.buf.extend_from_slice(bytes);
        self.broken.map_or(Ok(()), Err)
    }

    /// Hands over what was gathered.
    fn send(&mut self, sink: &mut dyn Sink) -> Result<(), ErrorKind> {
        self.broken.map_or(Ok(()), Err)?;
        if !self.buf.is_empty() {
            let sent = sink.write_all(&self.buf);
            self.buf.clear();
            self.kept(sent)?;
        }
        Ok(())
    }

    /// Hands over all and has it sent.
    pub fn flush(&mut self, sink: &mut dyn Sink) -> Result<(), ErrorKind> {
        self.send(sink)?;
        self.kept(sink.flush())
    }

    fn kept(&mut self, result: Result<(), ErrorKind>) -> Result<(), ErrorKind> {
        self.broken = result.err();
        result
    }

    /// Is there nothing to send?
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty() && self.broken.is_none()
    }
}
