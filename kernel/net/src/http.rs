//! HTTP/1.1 (RFC 9110, RFC 9112) over `embedded-io`: a server that knows no sockets, and a small client. What it does and refuses, and
//! why: docs/http.md.
//!
//! ```text
//!   serve ── Accept ──► Task ──► Server::serve_connection                           get
//!                                      │                                             │
//!           Input ─► Scan ─► Head ─► body (Chunks) ─► Handler ─► Response ─► Output  └─► Reply
//!                     httparse, Framing, Target        Router      Body
//! ```
//!
//! | question | file |
//! |---|---|
//! | what a handler sees and gives | `request` `response` `body` `fields` `error` |
//! | which handler | `handler` `router` |
//! | one connection, request by request | `connection` |
//! | where a head ends, what it says, where the body ends | `scan` `head` `target` `framing` `chunked` |
//! | why a request is refused | `refusal` `limits` `counters` |
//! | bytes in, bytes out, and their time | `input` `output` `stream` |
//! | accepting, shutting down | `serve` `server` |
//! | asking others | `client` |
//!
//! ```
//! use net::http::{Method, Request, Response, Router, Server};
//! let router = Router::new()
//!     .route(Method::Get, "/hello/{name}", |request: &Request, response: &mut Response| {
//!         response.body(format!("hello {}\n", request.param("name").unwrap_or("you")))
//!     });
//! let server = Server::new(router);
//! ```

mod body;
mod bytes;
mod chunked;
mod client;
mod connection;
mod counters;
mod error;
mod fields;
mod framing;
mod handler;
mod head;
mod input;
mod limits;
mod method;
mod output;
mod percent;
mod refusal;
mod request;
mod response;
mod router;
mod scan;
mod serve;
mod server;
mod status;
mod stream;
mod target;

pub use body::Body;
pub use client::{GetError, Reply, get};
pub use counters::Counters;
pub use error::{Error, Result};
pub use fields::Fields;
pub use framing::Version;
pub use handler::Handler;
pub use limits::{Limits, Timeouts};
pub use method::Method;
pub use percent::percent_decode;
pub use refusal::Refusal;
pub use request::Request;
pub use response::Response;
pub use router::Router;
pub use serve::{Accept, Shutdown, Task, serve};
pub use server::{End, Outcome, Server};
pub use status::Status;
pub use stream::{Side, Stream};
