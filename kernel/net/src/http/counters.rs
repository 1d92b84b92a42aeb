//! What a server has seen.

use super::refusal::Refusal;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const REFUSALS: usize = Refusal::ALL.len();

/// Counts since a server began. Each stands alone: `Relaxed` pairs with nothing.
///
/// ```
/// use net::http::{Refusal, Request, Response, Server};
/// let server = Server::new(|_: &Request, response: &mut Response| response.body(b""));
/// assert_eq!(server.counters().requests(), 0);
/// assert_eq!(server.counters().refused(Refusal::NoHost), 0);
/// ```
#[derive(Debug)]
pub struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) idle: AtomicU64,
    pub(crate) broken: AtomicU64,
    pub(crate) failed: AtomicU64,
    refused: [AtomicU64; REFUSALS],
}

impl Counters {
    pub(crate) const fn new() -> Counters {
        Counters {
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            idle: AtomicU64::new(0),
            broken: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            refused: [const { AtomicU64::new(0) }; REFUSALS],
        }
    }

    pub(crate) fn refuse(&self, reason: Refusal) {
        add(&self.refused[reason as usize]);
    }

    /// Connections that were served or turned away.
    ///
    /// ```
    /// # fn f(counters: &net::http::Counters) {
    /// log::info!("{} connections", counters.connections());
    /// # }
    /// ```
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Requests that got to the handler.
    ///
    /// ```
    /// # fn f(counters: &net::http::Counters) {
    /// log::info!("{} requests", counters.requests());
    /// # }
    /// ```
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// Requests that were refused for this reason.
    ///
    /// ```
    /// use net::http::{Counters, Refusal};
    /// fn all(counters: &Counters) -> u64 {
    ///     Refusal::ALL.iter().map(|&reason| counters.refused(reason)).sum()
    /// }
    /// ```
    pub fn refused(&self, reason: Refusal) -> u64 {
        self.refused[reason as usize].load(Relaxed)
    }

    /// Connections that ended because nothing came.
    ///
    /// ```
    /// # fn f(counters: &net::http::Counters) {
    /// log::info!("{} idle", counters.idle());
    /// # }
    /// ```
    pub fn idle(&self) -> u64 {
        self.idle.load(Relaxed)
    }

    /// Connections whose stream failed.
    ///
    /// ```
    /// # fn f(counters: &net::http::Counters) {
    /// log::info!("{} broken", counters.broken());
    /// # }
    /// ```
    pub fn broken(&self) -> u64 {
        self.broken.load(Relaxed)
    }

    /// Connections that ended because a handler failed when its response had begun.
    ///
    /// ```
    /// # fn f(counters: &net::http::Counters) {
    /// log::info!("{} failed", counters.failed());
    /// # }
    /// ```
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }
}

pub(crate) fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
