//! TCP, for ring 3. Several processes may share a socket: one that is ended, or closes its handle, leaves the others alone, so
//! what it waits for is interrupted, not closed.
//!
//! One thread at a time is in a call of the network for a direction; the others wait here, where they can be ended.

use crate::sleeper::Interrupt;
use crate::wait::Wait;
use abi::Error;
use alloc::sync::Arc;
use base::{Rank, SpinLock};
use core::net::{Ipv4Addr, SocketAddrV4};
use csp::waitq::WaitQueue;
use net::socket::{self, ErrorKind, Read, TcpListener, TcpStream, Write};

/// Who accepts connections; closed with the last reference.
pub struct Listener(Arc<Accepting>);

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
    /// `InUse`, `Network`.
    pub fn bind(port: u16) -> Result<Listener, Error> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).map_err(error)?;
        Ok(Listener(Arc::new(Accepting {
            listener,
            turn: Turn::new(),
        })))
    }

    /// The next connection.
    ///
    /// # Errors
    /// `Network`, and those of the wait.
    pub fn accept(&self, mut wait: Wait<'_>) -> Result<Stream, Error> {
        let accepting = &*self.0;
        let accept = || accepting.listener.accept();
        let (stream, _) = accepting.turn.call(&mut wait, self.0.clone(), accept)?;
        Stream::new(stream)
    }

    /// Its port.
    ///
    /// # Errors
    /// `Network`.
    pub fn port(&self) -> Result<u16, Error> {
        let at = self.0.listener.local_addr().map_err(error)?;
        Ok(at.port())
    }
}

impl Stream {
    fn new(stream: TcpStream) -> Result<Stream, Error> {
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
    /// `Refused`, `TimedOut`, `Network`, and those of the wait.
    pub fn connect(mut wait: Wait<'_>, to: SocketAddrV4) -> Result<Stream, Error> {
        let stream = Stream::new(TcpStream::begin_connect(to).map_err(error)?)?;
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
