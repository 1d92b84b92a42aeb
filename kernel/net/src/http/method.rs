//! Methods that a handler can be asked for.

use core::fmt;

/// What the request wants done (RFC 9110, 9.3; PATCH: RFC 5789). Others, CONNECT and TRACE among them, get 501.
///
/// ```
/// use net::http::Method;
/// assert_eq!(Method::Get.to_string(), "GET");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Give what is there.
    Get,
    /// The same without the body.
    Head,
    /// Do something with the body.
    Post,
    /// Put the body there.
    Put,
    /// Change what is there.
    Patch,
    /// Take it away.
    Delete,
    /// Say what can be asked for.
    Options,
}

impl Method {
    /// All of them.
    ///
    /// ```
    /// assert!(net::http::Method::ALL.contains(&net::http::Method::Put));
    /// ```
    pub const ALL: [Method; 7] = [
        Method::Get,
        Method::Head,
        Method::Post,
        Method::Put,
        Method::Patch,
        Method::Delete,
        Method::Options,
    ];

    /// As it stands in a request.
    ///
    /// ```
    /// assert_eq!(net::http::Method::Delete.as_str(), "DELETE");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
        }
    }

    /// Names of methods are case-sensitive.
    pub(crate) fn parse(name: &str) -> Option<Method> {
        Some(match name {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            _ => return None,
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
