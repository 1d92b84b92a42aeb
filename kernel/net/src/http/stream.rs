//! What a connection runs over.

use core::time::Duration;
use embedded_io::{Error as _, ErrorKind, Read, Write};

/// One of a stream's two directions.
///
/// ```
/// assert_ne!(net::http::Side::Read, net::http::Side::Write);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What the peer sends.
    Read,
    /// What it is sent.
    Write,
}

/// A connection's bytes: those of `embedded-io`, and time limits for them. A socket of the kernel is one, and in tests anything.
///
/// ```
/// use core::time::Duration;
/// use embedded_io::{ErrorType, Read, Write};
/// use net::http::{Side, Stream};
///
/// struct Tcp(std::net::TcpStream);
/// impl ErrorType for Tcp {
///     type Error = embedded_io::ErrorKind;
/// }
/// # impl Read for Tcp {
/// #     fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
/// #         std::io::Read::read(&mut self.0, buf).map_err(kind)
/// #     }
/// # }
/// # impl Write for Tcp {
/// #     fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
/// #         std::io::Write::write(&mut self.0, buf).map_err(kind)
/// #     }
/// #     fn flush(&mut self) -> Result<(), Self::Error> {
/// #         Ok(())
/// #     }
/// # }
/// # fn kind(error: std::io::Error) -> embedded_io::ErrorKind {
/// #     match error.kind() {
/// #         std::io::ErrorKind::WouldBlock => embedded_io::ErrorKind::TimedOut,
/// #         _ => embedded_io::ErrorKind::Other,
/// #     }
/// # }
/// // … Read and Write …
/// impl Stream for Tcp {
///     // The host limits each call; a deadline would be better, and is what the kernel has.
///     fn deadline(&mut self, side: Side, within: Option<Duration>) {
///         let _ = match side {
///             Side::Read => self.0.set_read_timeout(within),
///             Side::Write => self.0.set_write_timeout(within),
///         };
///     }
///     fn close_write(&mut self) {
///         let _ = self.0.shutdown(std::net::Shutdown::Write);
///     }
/// }
/// ```
pub trait Stream: Read + Write {
    /// From now on, calls of this side that are not done in `within` from *now* fail with [`ErrorKind::TimedOut`], all of them
    /// together having that long; `None`: no limit any more. Called with durations of
    /// [`Timeouts`](super::Timeouts); never, where all of a side's are `None`.
    fn deadline(&mut self, side: Side, within: Option<Duration>);

    /// Nothing more will be written (a FIN is sent). The peer may still send.
    fn close_write(&mut self) {}
}

impl<S: Stream> Stream for &mut S {
    fn deadline(&mut self, side: Side, within: Option<Duration>) {
        (**self).deadline(side, within);
    }

    fn close_write(&mut self) {
        (**self).close_write();
    }
}

/// The writing side without its type, so that handlers do not have it in theirs.
pub(crate) trait Sink {
    /// Writes all of it.
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), ErrorKind>;
    fn flush(&mut self) -> Result<(), ErrorKind>;
}

/// A stream whose peer has so long to take something.
pub(crate) struct Timed<'s, S> {
    pub stream: &'s mut S,
    pub within: Option<Duration>,
}

impl<S: Stream> Sink for Timed<'_, S> {
    fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), ErrorKind> {
        while !bytes.is_empty() {
            if self.within.is_some() {
                self.stream.deadline(Side::Write, self.within);
            }
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero),
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.kind()),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        self.stream.flush().map_err(|error| error.kind())
    }
}
