//! A server: a handler, and what it grants a connection.

use super::connection::{Connection, refusal};
use super::counters::{Counters, add};
use super::handler::Handler;
use super::limits::{Limits, Timeouts};
use super::output::Output;
use super::refusal::Refusal;
use super::stream::{Stream, Timed};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::sync::atomic::AtomicUsize;
use embedded_io::ErrorKind;

/// How a connection ended.
///
/// ```
/// use net::http::End;
/// fn is_the_peers_fault(end: End) -> bool {
///     matches!(end, End::Refused(_) | End::Broken(_))
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The peer closed it between two requests.
    PeerClosed,
    /// One of both sides had asked for it with `Connection: close` (or by HTTP/1.0's silence).
    Asked,
    /// The server is shutting down.
    Shutdown,
    /// Nothing came for too long.
    Idle,
    /// A request was refused.
    Refused(Refusal),
    /// The handler failed when its response had begun; the peer sees that it is not whole.
    Failed,
    /// The stream failed.
    Broken(ErrorKind),
}

/// What became of a connection.
///
/// ```
/// fn log(outcome: net::http::Outcome) {
///     log::info!("{} requests, then {:?}", outcome.requests, outcome.end);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Requests that got to the handler.
    pub requests: u64,
    /// Its end.
    pub end: End,
}

/// An HTTP/1.1 server. It knows no sockets: connections are given to it, by [`serve`](super::serve()) or one by one.
///
/// ```
/// use core::time::Duration;
/// use net::http::{Limits, Request, Response, Server, Timeouts};
///
/// let server = Server::new(|request: &Request, response: &mut Response| {
///     response.header("Content-Type", "text/plain")?;
///     response.body(request.path())
/// })
/// .limits(Limits { body_bytes: 4096, ..Default::default() })
/// .timeouts(Timeouts { idle: Some(Duration::from_secs(5)), ..Default::default() });
/// ```
#[derive(Debug)]
pub struct Server<H> {
    pub(crate) handler: H,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) coalesce: bool,
    pub(crate) counters: Counters,
    /// Connections that `serve` has open.
    pub(crate) open: AtomicUsize,
}

impl<H: Handler> Server<H> {
    /// A server with usual limits.
    ///
    /// ```
    /// # use net::http::{Request, Response, Server, Status};
    /// let server = Server::new(|_: &Request, _: &mut Response| Err(Status::NOT_FOUND.into()));
    /// ```
    pub fn new(handler: H) -> Server<H> {
        Server {
            handler,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            coalesce: false,
            counters: Counters::new(),
            open: AtomicUsize::new(0),
        }
    }

    /// Other limits.
    ///
    /// ```
    /// # use net::http::{Limits, Router, Server};
    /// let server = Server::new(Router::new()).limits(Limits { fields: 20, ..Default::default() });
    /// ```
    pub fn limits(mut self, limits: Limits) -> Server<H> {
        self.limits = limits.sane();
        self
    }

    /// Other times.
    ///
    /// ```
    /// # use net::http::{Router, Server, Timeouts};
    /// let server = Server::new(Router::new()).timeouts(Timeouts { head: None, ..Default::default() });
    /// ```
    pub fn timeouts(mut self, timeouts: Timeouts) -> Server<H> {
        self.timeouts = timeouts;
        self
    }

    /// Should responses to pipelined requests wait for each other, to leave together? Fewer segments; but a response may wait for the
    /// handler of the next request. Off at first.
    ///
    /// ```
    /// # use net::http::{Router, Server};
    /// let server = Server::new(Router::new()).coalesce(true);
    /// ```
    pub fn coalesce(mut self, on: bool) -> Server<H> {
        self.coalesce = on;
        self
    }

    /// Serves a connection to its end; the stream is then to be closed. Once `shutdown` says so, the request at hand is the last.
    ///
    /// ```
    /// # fn f<S: net::http::Stream>(mut stream: S, peer: core::net::SocketAddr) {
    /// use net::http::{End, Request, Response, Server};
    /// let server = Server::new(|_: &Request, response: &mut Response| response.body(b"hello\n"));
    /// let outcome = server.serve_connection(&mut stream, peer, &|| false);
    /// if let End::Refused(reason) = outcome.end {
    ///     log::info!("{peer}: {reason}");
    /// }
    /// # }
    /// ```
    pub fn serve_connection<S: Stream>(
        &self,
        stream: &mut S,
        peer: SocketAddr,
        shutdown: &dyn Fn() -> bool,
    ) -> Outcome {
        add(&self.counters.connections);
        let mut connection = Connection::new(self, stream, peer, shutdown);
        let end = connection.run();
        Outcome {
            requests: connection.requests,
            end,
        }
    }

    /// Answers a connection with 503, without reading from it.
    ///
    /// ```
    /// # fn f<S: net::http::Stream>(mut stream: S, server: net::http::Server<net::http::Router>) {
    /// server.turn_away(&mut stream);
    /// # }
    /// ```
    pub fn turn_away<S: Stream>(&self, stream: &mut S) -> Outcome {
        add(&self.counters.connections);
        self.counters.refuse(Refusal::Busy);
        let mut sink = Timed {
            stream,
            within: self.timeouts.write,
        };
        let mut output = Output::new();
        let status = super::Status::SERVICE_UNAVAILABLE;
        let answered = refusal(
            &mut sink,
            &mut output,
            &mut Vec::new(),
            Refusal::Busy,
            status,
            false,
        );
        let sent = match answered {
            Err(Some(kind)) => Err(kind),
            _ => output.flush(&mut sink),
        };
        sink.stream.close_write();
        let end = match sent {
            Ok(()) => End::Refused(Refusal::Busy),
            Err(kind) => {
                add(&self.counters.broken);
                End::Broken(kind)
            }
        };
        Outcome { requests: 0, end }
    }

    /// What it has seen.
    ///
    /// ```
    /// # use net::http::{Router, Server};
    /// assert_eq!(Server::new(Router::new()).counters().connections(), 0);
    /// ```
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
