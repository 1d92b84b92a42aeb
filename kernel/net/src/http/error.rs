//! Why a handler gives up.

use super::status::Status;
use core::fmt;
use embedded_io::ErrorKind;

/// What a handler returns where it cannot answer, or where a call of [`Response`](super::Response) failed. If nothing was sent yet, the
/// peer gets the status, else the connection ends, so that a response that was cut off does not look whole.
///
/// ```
/// use net::http::{Error, Request, Response, Result, Status};
/// fn handler(request: &Request, response: &mut Response) -> Result {
///     let name = request.query_value("name").ok_or(Status::BAD_REQUEST)?;
///     response.body(name.as_bytes())
/// }
/// assert_eq!(Error::from(Status::BAD_REQUEST).status(), Status::BAD_REQUEST);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Answer with this.
    Status(Status),
    /// That cannot be sent as a header field: a name is a token, a value has no control characters, and the fields that frame a
    /// message (Content-Length, Transfer-Encoding, Connection, Keep-Alive, Upgrade, Trailer) are the server's.
    Field,
    /// The response has begun; its status and fields are out.
    Begun,
    /// Not as many bytes as were promised, or a body where none can be.
    Length,
    /// The stream failed.
    Stream(ErrorKind),
}

/// What handlers return.
///
/// ```
/// fn handler(_: &net::http::Request, _: &mut net::http::Response) -> net::http::Result {
///     Ok(()) // 200 without a body
/// }
/// ```
pub type Result<T = ()> = core::result::Result<T, Error>;

impl Error {
    /// What the peer is told, if it can still be told.
    ///
    /// ```
    /// use net::http::{Error, Status};
    /// assert_eq!(Error::Field.status(), Status::INTERNAL_SERVER_ERROR);
    /// ```
    pub fn status(self) -> Status {
        match self {
            Error::Status(status) => status,
            _ => Status::INTERNAL_SERVER_ERROR,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Status(status) => write!(f, "answered with {status}"),
            Error::Field => f.write_str(
                "a header field has a token as its name, no control characters, and does not frame the message",
            ),
            Error::Begun => f.write_str("status and fields come before the body, and there is one body"),
            Error::Length => f.write_str("a body has as many bytes as were promised; 204 and 304 have none"),
            Error::Stream(kind) => write!(f, "the stream failed: {kind:?}"),
        }
    }
}

impl core::error::Error for Error {}

impl embedded_io::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Error::Stream(kind) => *kind,
            Error::Status(_) => ErrorKind::Other,
            Error::Field | Error::Begun | Error::Length => ErrorKind::InvalidInput,
        }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Error {
        Error::Status(status)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error::Stream(kind)
    }
}
