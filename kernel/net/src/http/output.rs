//! What is to be sent: small pieces are gathered, large ones go from where they lie.

use super::stream::Sink;
use alloc::vec::Vec;
use embedded_io::ErrorKind;

/// Bytes that are gathered: a head and a small body leave in one segment.
const GATHERED: usize = 4096;

pub(crate) struct Output {
    buf: Vec<u8>,
}

impl Output {
    pub fn new() -> Output {
        Output {
            buf: Vec::with_capacity(512),
        }
    }

    pub fn put(&mut self, sink: &mut dyn Sink, bytes: &[u8]) -> Result<(), ErrorKind> {
        if self.buf.len() + bytes.len() > GATHERED {
            self.send(sink)?;
            if bytes.len() > GATHERED / 2 {
                return sink.write_all(bytes);
            }
        }
        self.buf.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands over what was gathered.
    fn send(&mut self, sink: &mut dyn Sink) -> Result<(), ErrorKind> {
        if !self.buf.is_empty() {
            sink.write_all(&self.buf)?;
            self.buf.clear();
        }
        Ok(())
    }

    /// Hands over all and has it sent.
    pub fn flush(&mut self, sink: &mut dyn Sink) -> Result<(), ErrorKind> {
        self.send(sink)?;
        sink.flush()
    }

    /// Is there nothing to send?
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }
}
