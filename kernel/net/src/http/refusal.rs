//! Why a request never gets to its handler. Each reason has a status, a line that says what would be right, and a counter.

use super::status::Status;
use core::fmt;

macro_rules! refusals {
    ($($(#[doc = $doc:literal])* $name:ident $status:expr, $line:literal;)*) => {
        /// Why a request was not served. The connection ends with it: what follows in the stream can no longer be told apart.
        ///
        /// ```
        /// use net::http::{Refusal, Status};
        /// assert_eq!(Refusal::BodyTooLarge.status(), Some(Status::CONTENT_TOO_LARGE));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Refusal { $($(#[doc = $doc])* $name,)* }

        impl Refusal {
            /// All of them.
            ///
            /// ```
            /// assert!(net::http::Refusal::ALL.len() > 20);
            /// ```
            pub const ALL: &'static [Refusal] = &[$(Refusal::$name,)*];

            /// What the peer is told; none if it cannot be told anything any more.
            ///
            /// ```
            /// assert_eq!(net::http::Refusal::HeadCutOff.status(), None);
            /// ```
            pub fn status(self) -> Option<Status> {
                match self { $(Refusal::$name => $status,)* }
            }

            /// What would be right, in one line.
            ///
            /// ```
            /// assert_eq!(net::http::Refusal::NoHost.line(), "a request of HTTP/1.1 has a Host field");
            /// ```
            pub fn line(self) -> &'static str {
                match self { $(Refusal::$name => $line,)* }
            }
        }
    };
}

refusals! {
    /// A line feed without a carriage return before it.
    BareLineFeed Some(Status::BAD_REQUEST), "lines end with CR and LF";
    /// Not method, target and version.
    RequestLine Some(Status::BAD_REQUEST), "a request begins with METHOD SP TARGET SP HTTP/1.1";
    /// A target of no known form.
    Target Some(Status::BAD_REQUEST), "a target is a /path, a http://host/path, or * with OPTIONS, in ASCII, with whole %-escapes and no fragment";
    /// A line that is no header field.
    Field Some(Status::BAD_REQUEST), "a header field is one line, NAME: VALUE, without control characters";
    /// HTTP/1.1 without Host.
    NoHost Some(Status::BAD_REQUEST), "a request of HTTP/1.1 has a Host field";
    /// More than one Host, or none that could be a host.
    Host Some(Status::BAD_REQUEST), "there is one Host field, HOST or HOST:PORT";
    /// A length that is no number.
    Length Some(Status::BAD_REQUEST), "Content-Length is a decimal number";
    /// More than one length.
    Lengths Some(Status::BAD_REQUEST), "there is one Content-Length field with one number";
    /// Both ways of saying where the body ends.
    LengthAndEncoding Some(Status::BAD_REQUEST), "a body has a Content-Length or a Transfer-Encoding, not both";
    /// An encoding that does not say where the body ends.
    EncodingOrder Some(Status::BAD_REQUEST), "chunked is the last Transfer-Encoding, and there once";
    /// HTTP/1.0 has no encodings.
    EncodingOld Some(Status::BAD_REQUEST), "Transfer-Encoding needs HTTP/1.1";
    /// A broken chunk.
    Chunk Some(Status::BAD_REQUEST), "a chunk is its size in hexadecimal, CR LF, that many bytes, CR LF";
    /// The head took too long.
    HeadTimeout Some(Status::REQUEST_TIMEOUT), "the head of the request took too long";
    /// The body took too long.
    BodyTimeout Some(Status::REQUEST_TIMEOUT), "the body of the request took too long";
    /// More body than is taken.
    BodyTooLarge Some(Status::CONTENT_TOO_LARGE), "the body is longer than this server takes";
    /// More request line than is taken.
    LineTooLong Some(Status::URI_TOO_LONG), "the request line is longer than this server takes";
    /// An expectation that is not known.
    Expectation Some(Status::EXPECTATION_FAILED), "Expect knows 100-continue alone";
    /// More head than is taken.
    HeadTooLarge Some(Status::HEAD_TOO_LARGE), "the head is longer than this server takes";
    /// More fields than are taken.
    TooManyFields Some(Status::HEAD_TOO_LARGE), "there are more header fields than this server takes";
    /// More chunk extensions and trailers than are taken.
    ChunkExtra Some(Status::HEAD_TOO_LARGE), "chunk extensions and trailers are longer than this server takes";
    /// A method that no handler can be asked for.
    Method Some(Status::NOT_IMPLEMENTED), "methods are GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
    /// An encoding that is not known.
    Coding Some(Status::NOT_IMPLEMENTED), "Transfer-Encoding knows chunked alone";
    /// Too many connections.
    Busy Some(Status::SERVICE_UNAVAILABLE), "too many connections are open, try again";
    /// Another version of HTTP.
    Version Some(Status::VERSION_NOT_SUPPORTED), "this server speaks HTTP/1.1 and HTTP/1.0";
    /// The stream ended within a head.
    HeadCutOff None, "the stream ended within the head of a request";
    /// The stream ended within a body.
    BodyCutOff None, "the stream ended within the body of a request";
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.line())
    }
}

impl core::error::Error for Refusal {}
