//! Status codes (RFC 9110, 15) and their phrases.

use core::fmt;

/// A final status: 200 to 599.
///
/// ```
/// use net::http::Status;
/// assert_eq!(Status::NOT_FOUND.to_string(), "404 Not Found");
/// assert_eq!(Status::new(404), Some(Status::NOT_FOUND));
/// assert_eq!(Status::new(99), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Status(u16);

macro_rules! statuses {
    ($($code:literal $name:ident $phrase:literal)*) => {
        impl Status {
            $(
                #[doc = concat!($phrase, ", ", $code, ".\n\n```\nassert_eq!(net::http::Status::", stringify!($name),
                    ".code(), ", $code, ");\n```")]
                pub const $name: Status = Status($code);
            )*

            /// The phrase beside the code; empty for a code without one.
            ///
            /// ```
            /// assert_eq!(net::http::Status::OK.phrase(), "OK");
            /// ```
            pub fn phrase(self) -> &'static str {
                match self.0 { $($code => $phrase,)* _ => "" }
            }
        }
    };
}

statuses! {
    200 OK "OK"
    201 CREATED "Created"
    202 ACCEPTED "Accepted"
    204 NO_CONTENT "No Content"
    301 MOVED_PERMANENTLY "Moved Permanently"
    302 FOUND "Found"
    303 SEE_OTHER "See Other"
    304 NOT_MODIFIED "Not Modified"
    307 TEMPORARY_REDIRECT "Temporary Redirect"
    308 PERMANENT_REDIRECT "Permanent Redirect"
    400 BAD_REQUEST "Bad Request"
    401 UNAUTHORIZED "Unauthorized"
    403 FORBIDDEN "Forbidden"
    404 NOT_FOUND "Not Found"
    405 METHOD_NOT_ALLOWED "Method Not Allowed"
    406 NOT_ACCEPTABLE "Not Acceptable"
    408 REQUEST_TIMEOUT "Request Timeout"
    409 CONFLICT "Conflict"
    410 GONE "Gone"
    411 LENGTH_REQUIRED "Length Required"
    413 CONTENT_TOO_LARGE "Content Too Large"
    414 URI_TOO_LONG "URI Too Long"
    415 UNSUPPORTED_MEDIA_TYPE "Unsupported Media Type"
    417 EXPECTATION_FAILED "Expectation Failed"
    422 UNPROCESSABLE_CONTENT "Unprocessable Content"
    429 TOO_MANY_REQUESTS "Too Many Requests"
    431 HEAD_TOO_LARGE "Request Header Fields Too Large"
    500 INTERNAL_SERVER_ERROR "Internal Server Error"
    501 NOT_IMPLEMENTED "Not Implemented"
    502 BAD_GATEWAY "Bad Gateway"
    503 SERVICE_UNAVAILABLE "Service Unavailable"
    504 GATEWAY_TIMEOUT "Gateway Timeout"
    505 VERSION_NOT_SUPPORTED "HTTP Version Not Supported"
}

impl Status {
    /// A status by its number; none if that is not 200 to 599.
    ///
    /// ```
    /// assert_eq!(net::http::Status::new(418).unwrap().code(), 418);
    /// ```
    pub fn new(code: u16) -> Option<Status> {
        (200..600).contains(&code).then_some(Status(code))
    }

    /// The number.
    ///
    /// ```
    /// assert_eq!(net::http::Status::OK.code(), 200);
    /// ```
    pub fn code(self) -> u16 {
        self.0
    }

    /// Can a response with this status have a body (RFC 9112, 6.3)?
    pub(crate) fn has_body(self) -> bool {
        !matches!(self.0, 204 | 304)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.phrase())
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
