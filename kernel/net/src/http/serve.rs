//! The accept loop.

use super::handler::Handler;
use super::server::{Outcome, Server};
use super::stream::Stream;
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering::*};

/// Where connections come from.
///
/// ```
/// use core::net::SocketAddr;
/// use net::http::{Accept, Stream};
/// /// Connections that were made beforehand.
/// struct Ready<S>(Vec<S>);
/// impl<S: Stream> Accept for Ready<S> {
///     type Stream = S;
///     type Error = core::convert::Infallible;
///     fn accept(&mut self) -> Result<Option<(S, SocketAddr)>, Self::Error> {
///         Ok(self.0.pop().map(|stream| (stream, SocketAddr::from(([127, 0, 0, 1], 1)))))
///     }
/// }
/// ```
pub trait Accept {
    /// A connection.
    type Stream: Stream;
    /// Why there can be no more.
    type Error: embedded_io::Error;

    /// Waits for the next; `None`: there will be no more, as the listener was closed.
    ///
    /// # Errors
    /// None that passes: who runs out of something for a while waits.
    fn accept(&mut self) -> Result<Option<(Self::Stream, SocketAddr)>, Self::Error>;
}

/// Tells a server to finish: every connection ends after the request at hand. Whoever calls it also closes the listener, and
/// wakes idle connections, by a deadline that is over for instance.
///
/// ```
/// let shutdown = net::http::Shutdown::new();
/// let other = shutdown.clone();
/// other.begin();
/// assert!(shutdown.has_begun());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    begun: Arc<AtomicBool>,
}

impl Shutdown {
    /// A server that is to run.
    ///
    /// ```
    /// assert!(!net::http::Shutdown::new().has_begun());
    /// ```
    pub fn new() -> Shutdown {
        Shutdown::default()
    }

    /// Begins the end.
    ///
    /// ```
    /// # let shutdown = net::http::Shutdown::new();
    /// shutdown.begin();
    /// ```
    pub fn begin(&self) {
        // Pairs with the load in `has_begun`: who sees it sees what was done before.
        self.begun.store(true, Release);
    }

    /// Has it begun?
    ///
    /// ```
    /// # let shutdown = net::http::Shutdown::new();
    /// while !shutdown.has_begun() {
    ///     // …
    /// #   break;
    /// }
    /// ```
    pub fn has_begun(&self) -> bool {
        // Pairs with the store in `begin`.
        self.begun.load(Acquire)
    }
}

/// A connection that was accepted and waits to be served, by a goroutine of its own. Dropped, it is closed unserved.
///
/// ```
/// # use net::http::{Handler, Stream, Task};
/// fn busy<S: Stream, H: Handler>(tasks: Vec<Task<S, H>>) -> usize {
///     tasks.into_iter().map(Task::run).filter(|outcome| outcome.requests > 0).count()
/// }
/// ```
pub struct Task<S, H> {
    server: Arc<Server<H>>,
    stream: S,
    peer: SocketAddr,
    shutdown: Shutdown,
}

impl<S: Stream, H: Handler> Task<S, H> {
    /// Serves it to its end, and drops the stream.
    ///
    /// ```
    /// # use net::http::{Handler, Stream, Task};
    /// fn start<S: Stream + Send + 'static, H: Handler + Send + Sync + 'static>(task: Task<S, H>) {
    ///     std::thread::spawn(move || task.run());
    /// }
    /// ```
    pub fn run(mut self) -> Outcome {
        let shutdown = self.shutdown.clone();
        self.server
            .serve_connection(&mut self.stream, self.peer, &|| shutdown.has_begun())
    }
}

impl<S, H> Drop for Task<S, H> {
    fn drop(&mut self) {
        // A count and nothing else, as in `serve`: pairs with nothing.
        self.server.open.fetch_sub(1, Relaxed);
    }
}

/// Accepts connections and gives each to `start`, until there are no more or `shutdown` has begun. Those above
/// [`Limits::connections`](super::Limits::connections) get 503. Connections may still be open when it returns; whoever starts them
/// can wait for them.
///
/// # Errors
/// The listener's.
///
/// ```
/// # use net::http::{Accept, Handler, Server, Shutdown, serve};
/// # use std::sync::Arc;
/// # fn f<L: Accept>(mut listener: L, handler: impl Handler + Send + Sync + 'static) -> Result<(), L::Error>
/// # where L::Stream: Send + 'static {
/// let (server, shutdown) = (Arc::new(Server::new(handler)), Shutdown::new());
/// serve(&server, &mut listener, &shutdown, |task| {
///     std::thread::spawn(move || task.run());
/// })
/// # }
/// ```
pub fn serve<L: Accept, H: Handler>(
    server: &Arc<Server<H>>,
    listener: &mut L,
    shutdown: &Shutdown,
    mut start: impl FnMut(Task<L::Stream, H>),
) -> Result<(), L::Error> {
    while !shutdown.has_begun() {
        let Some((mut stream, peer)) = listener.accept()? else {
            break;
        };
        if server.open.fetch_add(1, Relaxed) >= server.limits.connections {
            server.open.fetch_sub(1, Relaxed);
            server.turn_away(&mut stream);
            continue;
        }
        start(Task {
            server: server.clone(),
            stream,
            peer,
            shutdown: shutdown.clone(),
        });
    }
    Ok(())
}
