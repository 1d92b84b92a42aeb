//! TCP, for ring 3. Several processes may share a socket: one that is ended, or closes its handle, leaves the others alone, so
//! what it waits for is interrupted, not closed.
//!
//! One thread at a time is in a call of the network for a direction; the others wait here, where they can be ended.
//!
//! A connection's buffers are memory of the kernel's, so each counts for the process that has accepted it or connected; those that
//! nobody has accepted count for who listens, as many as there may be, from the start.

use crate::account::{Account, Charge};
use crate::sleeper::Interrupt;
use crate::wait::Wait;
use abi::Error;
use alloc::sync::Arc;
use base::{Rank, SpinLock};
use core::net::{Ipv4Addr, SocketAddrV4};
use csp::waitq::WaitQueue;
use net::socket::{self, ErrorKind, Read, TcpListener, TcpStream, Write};
use net::stack::tcp::Config;

/// Connections of a listener that wait to be accepted at most (Linux had so many for long).
pub const BACKLOG: u64 = 128;

/// Memory of the kernel for `n` connections.
fn charge(account: &Arc<Account>, n: u64) -> Result<Charge, Error> {
    account.charge(n * Config::default().connection_bytes() as u64)
}

/// Who accepts connections; closed with the last reference.
pub struct Listener {
    accepting: Arc<Accepting>,
    // Not in what calls are interrupted by: who does that may hold it for a moment after the last call has left.
    _charge: Charge,
}

/// A connection; closed with the last reference. What was written still arrives.
pub struct Stream {
    reading: Arc<Reading>,
    writing: Arc<Writing>,
    _charge: Charge,
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
        let charge = charge(account, BACKLOG)?;
        let at = (Ipv4Addr::UNSPECIFIED, port);
        let listener = TcpListener::bind_with_backlog(at, BACKLOG as usize).map_err(error)?;
        let accepting = Accepting {
            listener,
            turn: Turn::new(),
        };
        Ok(Listener {
            accepting: Arc::new(accepting),
            _charge: charge,
        })
    }

    /// The next connection.
    ///
    /// # Errors
    /// `Network`, and those of the wait. `OutOfMemory`: the connection is closed again.
    pub fn accept(&self, mut wait: Wait<'_>, account: &Arc<Account>) -> Result<Stream, Error> {
        let accepting = &*self.accepting;
        let accept = || accepting.listener.accept();
        let (stream, _) = accepting
            .turn
            .call(&mut wait, self.accepting.clone(), accept)?;
        Stream::new(stream, charge(account, 1)?)
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
    fn new(stream: TcpStream, charge: Charge) -> Result<Stream, Error> {
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
            _charge: charge,
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
        let charge = charge(account, 1)?;
        let stream = Stream::new(TcpStream::begin_connect(to).map_err(error)?, charge)?;
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
