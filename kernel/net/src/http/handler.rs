//! Who answers.

use super::error::Result;
use super::request::Request;
use super::response::Response;

/// Answers requests: a function of this form, or a [`Router`](super::Router).
///
/// ```
/// use net::http::{Request, Response, Server};
/// let server = Server::new(|request: &Request, response: &mut Response| response.body(b"hello\n"));
/// ```
pub trait Handler {
    /// Is the body of this request wanted? Asked where the client waits to be told so (`Expect: 100-continue`), before the body is
    /// there. If not, [`handle`](Handler::handle) is called without the body, and the connection ends after its answer.
    ///
    /// ```
    /// use net::http::{Handler, Request, Response, Result, Status};
    /// struct Upload;
    /// impl Handler for Upload {
    ///     fn admit(&self, request: &Request) -> bool {
    ///         request.fields().get("authorization").is_some()
    ///     }
    ///     fn handle(&self, request: &Request, response: &mut Response) -> Result {
    ///         match self.admit(request) {
    ///             true => response.body(b"taken\n"),
    ///             false => Err(Status::UNAUTHORIZED.into()),
    ///         }
    ///     }
    /// }
    /// ```
    fn admit(&self, request: &Request<'_>) -> bool {
        let _ = request;
        true
    }

    /// Answers it. Without a call that sends a body, the response has none.
    ///
    /// # Errors
    /// See [`Error`](super::Error).
    fn handle(&self, request: &Request<'_>, response: &mut Response<'_>) -> Result;
}

impl<F> Handler for F
where
    F: Fn(&Request<'_>, &mut Response<'_>) -> Result,
{
    fn handle(&self, request: &Request<'_>, response: &mut Response<'_>) -> Result {
        self(request, response)
    }
}
