//! TCP, for ring 3. Several processes may share a socket: one that is ended, or closes its handle, leaves the others alone, so
//! what it waits for is interrupted, not closed.
//!
//! One thread at a time is in a call of the network for a direction; the others wait here, where they can be ended.
//!
//! A connection's buffers are memory of the kernel's, so each counts for the process that has accepted it or connected, until they are
//! gone: the other side may take its time after the last handle has closed. Those that nobody has accepted count for who listens, as
//! many as there may be, from the start. All processes together have half of the connections that the machine may have.

use crate::account::{Account, Charge};
use crate::limits::Counter;
use crate::sleeper::Interrupt;
use crate::wait::Wait;
use abi::Error;
use alloc::boxed::Box;
use alloc::sync::Arc;
use base::{Rank, SpinLock};
use core::net::{Ipv4Addr, SocketAddrV4};
use csp::waitq::WaitQueue;
use net::socket::{self, ErrorKind, Read, TcpListener, TcpStream, Write};
use net::stack::tcp::Config;

/// Connections of a listener that wait to be accepted at most (Linux had so many for long); fewer where they would be more than an eighth
/// of what a process may have.
const BACKLOG: u64 = 128;
/// Those that processes have, or may come to have by their listeners.
static TAKEN: Counter = Counter::new(u64::MAX);

/// Room for `n` connections.
struct Places {
    n: u64,
    _charge: Charge,
}

impl Places {
    /// # Errors
    /// `OutOfMemory`.
    fn take(account: &Arc<Account>, n: u64) -> Result<Places, Error> {
        let _charge = account.charge(n * connection_bytes())?;
        if !TAKEN.take_up_to(n, socket::most_connections() as u64 / 2) {
            return Err(Error::OutOfMemory);
        }
        Ok(Places { n, _charge })
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        TAKEN.give(self.n)
    }
}

/// What a connection counts for.
fn connection_bytes() -> u64 {
    Config::default().connection_bytes() as u64
}

/// Connections that may wait for a process's listener.
pub(crate) fn backlog(account: &Account) -> u64 {
    (account.limit_bytes() / 8 / connection_bytes()).clamp(1, BACKLOG)
}

/// Who accepts connections; closed with the last reference.
pub struct Listener {
    accepting: Arc<Accepting>,
    // Not in what calls are interrupted by: who does that may hold it for a moment after the last call has left.
    _places: Places,
}

/// A connection; closed with the last reference. What was written still arrives.
pub struct Stream {
    reading: Arc<Reading>,
    writing: Arc<Writing>,
}

struct Accepting {
    listener: TcpListener,
    turn: Turn,
}

struct Reading {
    stream: TcpStream,
    turn: Turn,
}

struct Writing {
    stream: TcpStream,
    turn: Turn,
}

impl Interrupt for Accepting {
    fn interrupt(&self) {
        self.listener.interrupt()
    }
}

impl Interrupt for Reading {
    fn interrupt(&self) {
        self.stream.interrupt_read()
    }
}

impl Interrupt for Writing {
    fn interrupt(&self) {
        self.stream.interrupt_write()
    }
}

impl Listener {
    /// Listens at all addresses of the machine; port 0 is one that is free.
    ///
    /// # Errors
    /// `InUse`, `Network`, `OutOfMemory`.
    pub fn bind(port: u16, account: &Arc<Account>) -> Result<Listener, Error> {
        let backlog = backlog(account);
        let places = Places::take(account, backlog)?;
        let at = (Ipv4Addr::UNSPECIFIED, port);
        let listener = TcpListener::bind_with_backlog(at, backlog as usize).map_err(error)?;
        let accepting = Accepting {
            listener,
            turn: Turn::new(),
        };
        Ok(Listener {
            accepting: Arc::new(accepting),
            _places: places,
        })
    }

    /// The next connection.
    ///
    /// # Errors
    /// `Network`, and those of the wait. `OutOfMemory`: there is none for it, and it goes on waiting.
    pub fn accept(&self, mut wait: Wait<'_>, account: &Arc<Account>) -> Result<Stream, Error> {
        let places = Places::take(account, 1)?;
        let accepting = &*self.accepting;
        let accept = || accepting.listener.accept();
        let (stream, _) = accepting
            .turn
            .call(&mut wait, self.accepting.clone(), accept)?;
        Stream::new(stream, places)
    }

    /// Its port.
    ///
    /// # Errors
    /// `Network`.
    pub fn port(&self) -> Result<u16, Error> {
        let at = self.accepting.listener.local_addr().map_err(error)?;
        Ok(at.port())
    }
}

impl Stream {
    fn new(stream: TcpStream, places: Places) -> Result<Stream, Error> {
        stream.keep(Box::new(places));
        let reading = Reading {
            stream: stream.try_clone().map_err(error)?,
            turn: Turn::new(),
        };
        let writing = Writing {
            stream,
            turn: Turn::new(),
        };
        Ok(Stream {
            reading: Arc::new(reading),
            writing: Arc::new(writing),
        })
    }

    /// Connects. A machine that has no address yet waits for that first, for a few seconds, and is not interrupted in it.
    ///
    /// # Errors
    /// `Refused`, `TimedOut`, `Network`, `OutOfMemory`, and those of the wait.
    pub fn connect(
        mut wait: Wait<'_>,
        to: SocketAddrV4,
        account: &Arc<Account>,
    ) -> Result<Stream, Error> {
        let places = Places::take(account, 1)?;
        let stream = Stream::new(TcpStream::begin_connect(to).map_err(error)?, places)?;
        let writing = &*stream.writing;
        let connected = || writing.stream.await_connected();
        writing
            .turn
            .call(&mut wait, stream.writing.clone(), connected)?;
        Ok(stream)
    }

    /// Reads some bytes, waits for the first; how many, 0 at the end.
    ///
    /// # Errors
    /// `Closed`, `TimedOut`, `Network`, and those of the wait.
    pub fn read(&self, mut wait: Wait<'_>, to: &mut [u8]) -> Result<usize, Error> {
        let reading = &*self.reading;
        let read = || (&reading.stream).read(to);
        reading.turn.call(&mut wait, self.reading.clone(), read)
    }

    /// Writes some bytes, waits for room for the first; how many.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, mut wait: Wait<'_>, from: &[u8]) -> Result<usize, Error> {
        let writing = &*self.writing;
        let write = || (&writing.stream).write(from);
        writing.turn.call(&mut wait, self.writing.clone(), write)
    }

    /// Its port on this side.
    ///
    /// # Errors
    /// `Network`.
    pub fn port(&self) -> Result<u16, Error> {
        let at = self.reading.stream.local_addr().map_err(error)?;
        Ok(at.port())
    }
}

/// Whose turn it is.
struct Turn(SpinLock<Taken>);

struct Taken {
    taken: bool,
    waiting: WaitQueue,
}

impl Turn {
    fn new() -> Turn {
        let free = Taken {
            taken: false,
            waiting: WaitQueue::new(),
        };
        Turn(SpinLock::new(Rank::Channel, free))
    }

    /// Calls `f` when it is the caller's turn, and again when it was interrupted for another one's sake.
    fn call<R>(
        &self,
        wait: &mut Wait<'_>,
        how: Arc<dyn Interrupt>,
        mut f: impl FnMut() -> socket::Result<R>,
    ) -> Result<R, Error> {
        let take = |t: &mut Taken| (!core::mem::replace(&mut t.taken, true)).then_some(((), None));
        wait.until(&self.0, |t| &mut t.waiting, take)?;
        let result = wait.inside(how, || match f() {
            Err(error) if error.kind() == ErrorKind::Interrupted => None,
            result => Some(result),
        });
        let mut state = self.0.lock();
        state.taken = false;
        let next = state.waiting.pop_up_to(1, |_| true);
        drop(state);
        next.ready(true);
        result?.map_err(error)
    }
}

/// The network's errors, in ring 3's words.
fn error(error: socket::Error) -> Error {
    match error.kind() {
        ErrorKind::TimedOut => Error::TimedOut,
        ErrorKind::ConnectionRefused => Error::Refused,
        ErrorKind::AddrInUse => Error::InUse,
        ErrorKind::OutOfMemory => Error::OutOfMemory,
        ErrorKind::InvalidInput => Error::BadArgument,
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::BrokenPipe => Error::Closed,
        _ => Error::Network,
    }
}
