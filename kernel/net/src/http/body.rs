//! A body that is written piece by piece.

use super::error::{Error, Result};
use super::response::Response;
use embedded_io::{ErrorType, Write};

/// Takes a response's body: from [`Response::sized`] and [`Response::chunked`].
///
/// ```
/// use embedded_io::Write;
/// # fn f(response: &mut net::http::Response) -> net::http::Result {
/// let mut body = response.chunked()?;
/// body.write_all(b"first\n")?;
/// body.flush()?; // the peer sees it now
/// body.write_all(b"second\n")?;
/// body.finish()
/// # }
/// ```
pub struct Body<'r, 'a> {
    pub(crate) response: &'r mut Response<'a>,
}

impl Body<'_, '_> {
    /// The body is whole.
    ///
    /// # Errors
    /// [`Error::Length`] if bytes are missing, [`Error::Stream`].
    ///
    /// ```
    /// # fn f(response: &mut net::http::Response) -> net::http::Result {
    /// response.chunked()?.finish() // an empty one
    /// # }
    /// ```
    pub fn finish(self) -> Result {
        self.response.finish()
    }
}

impl ErrorType for Body<'_, '_> {
    type Error = Error;
}

impl Write for Body<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.response.piece(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result {
        self.response.flush()
    }
}
