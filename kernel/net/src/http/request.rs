//! What a handler is asked.

use super::fields::Fields;
use super::framing::Version;
use super::head::Head;
use super::method::Method;
use super::router::Pattern;
use core::net::SocketAddr;

/// A request, with its whole body.
///
/// ```
/// use net::http::{Method, Request, Response, Result};
/// fn echo(request: &Request, response: &mut Response) -> Result {
///     response.header("Content-Type", request.field_str("content-type").unwrap_or("text/plain"))?;
///     response.body(request.body())
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub(crate) head: &'a Head,
    /// The head's bytes.
    pub(crate) bytes: &'a [u8],
    pub(crate) body: &'a [u8],
    pub(crate) peer: SocketAddr,
    pub(crate) pattern: Option<&'a Pattern>,
}

impl<'a> Request<'a> {
    /// What is to be done.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let safe = request.method() == net::http::Method::Get;
    /// # let _ = safe; }
    /// ```
    pub fn method(&self) -> Method {
        self.head.method
    }

    /// The client's version.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let old = request.version() == net::http::Version::Http10;
    /// # let _ = old; }
    /// ```
    pub fn version(&self) -> Version {
        self.head.version
    }

    /// The target as it came.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// log::info!("{} {}", request.method(), request.target());
    /// # }
    /// ```
    pub fn target(&self) -> &'a str {
        self.head.target.text(self.bytes)
    }

    /// Its path: `*`, or begins with `/`; with escapes ([`percent_decode`](super::percent_decode)).
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// assert!(request.path().starts_with('/'));
    /// # }
    /// ```
    pub fn path(&self) -> &'a str {
        self.head.path.text(self.bytes)
    }

    /// What stands behind the first `?`.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let pairs = request.query().unwrap_or("").split('&');
    /// # let _ = pairs; }
    /// ```
    pub fn query(&self) -> Option<&'a str> {
        self.head.query.map(|query| query.text(self.bytes))
    }

    /// The first value of `name` in the query, with escapes; empty where there is no `=`.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) -> Option<()> {
    /// let n: u32 = request.query_value("n")?.parse().ok()?;
    /// # let _ = n; Some(()) }
    /// ```
    pub fn query_value(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self.query()?.split('&');
        pairs.find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then_some(value)
        })
    }

    /// Whom the request is for: of an absolute target, else the field Host. Empty if nothing is said.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let local = request.host() == "localhost:8080";
    /// # let _ = local; }
    /// ```
    pub fn host(&self) -> &'a str {
        self.head.host.map_or("", |host| host.text(self.bytes))
    }

    /// Its header fields.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// for (name, value) in request.fields().iter() { /* … */ }
    /// # }
    /// ```
    pub fn fields(&self) -> Fields<'a> {
        self.head.fields(self.bytes)
    }

    /// The first value of a header field, if it is UTF-8.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let agent = request.field_str("user-agent").unwrap_or("nobody");
    /// # let _ = agent; }
    /// ```
    pub fn field_str(&self, name: &str) -> Option<&'a str> {
        core::str::from_utf8(self.fields().get(name)?).ok()
    }

    /// The body: all of it, decoded.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// let lines = request.body().split(|&byte| byte == b'\n').count();
    /// # let _ = lines; }
    /// ```
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Who asks.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) {
    /// log::info!("from {}", request.peer());
    /// # }
    /// ```
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The part of the path that stands for `{name}` in the pattern of the [`Router`](super::Router)'s route, with escapes.
    ///
    /// ```
    /// # fn f(request: &net::http::Request) -> Option<()> {
    /// let id: u64 = request.param("id")?.parse().ok()?; // route "/users/{id}"
    /// # let _ = id; Some(()) }
    /// ```
    pub fn param(&self, name: &str) -> Option<&'a str> {
        self.pattern?.param(self.path(), name)
    }
}
