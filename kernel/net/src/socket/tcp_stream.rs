//! Connections (std: `net::TcpStream`).

mod options;
mod traits;

use super::addr::first;
use super::fd::Fd;
use super::machine::{await_route, effects};
use super::{Result, ToSocketAddrs};
use crate::stack::tcp::{Conn, Kept, TcpError};
use alloc::sync::Arc;
use core::net::{SocketAddr, SocketAddrV4};
use csp::time::{Duration, Instant};
use sched::netpoll::{Mode, PollDesc};

/// A TCP connection. It is closed when its last handle is dropped; what was written still arrives. Reads and writes are
/// those of [`embedded_io`]; they park the goroutine.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use net::socket::{Read, TcpListener, TcpStream, Write};
/// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
/// let addr = listener.local_addr().unwrap();
/// let server = csp::spawn(move || {
///     let (mut s, _peer) = listener.accept().unwrap();
///     let mut b = [0; 5];
///     s.read_exact(&mut b).unwrap();
///     s.write_all(&b).unwrap();
/// });
/// let mut c = TcpStream::connect(addr).unwrap();
/// c.write_all(b"hello").unwrap();
/// let mut b = [0; 8];
/// assert_eq!(c.read(&mut b).unwrap(), 5);
/// server.join();
/// assert_eq!(c.read(&mut b).unwrap(), 0); // the end
/// # });
/// ```
pub struct TcpStream(Arc<Inner>);

struct Inner {
    /// Until it is dropped.
    conn: Option<Conn<PollDesc>>,
    fd: Fd,
}

/// Which direction [`TcpStream::shutdown`] ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Nothing is received any more.
    Read,
    /// Nothing is sent any more: the other side gets the end.
    Write,
    /// Neither.
    Both,
}

/// None: not yet.
fn not_yet<T>(result: core::result::Result<T, TcpError>) -> Result<Option<T>> {
    match result {
        Ok(t) => Ok(Some(t)),
        Err(TcpError::WouldBlock) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Inner {
    fn conn(&self) -> &Conn<PollDesc> {
        self.conn.as_ref().expect("there until it is dropped")
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.fd.unblock();
        if let Some(conn) = self.conn.take() {
            effects(|stack, now_ns, out| conn.close(stack, now_ns, out))
        }
    }
}

impl TcpStream {
    pub(super) fn new(conn: Conn<PollDesc>, fd: Fd) -> TcpStream {
        TcpStream(Arc::new(Inner {
            conn: Some(conn),
            fd,
        }))
    }

    fn conn(&self) -> &Conn<PollDesc> {
        self.0.conn()
    }

    /// Connects to `addr`: to the first of its addresses that answers.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, TcpStream};
    /// let error = TcpStream::connect(("127.0.0.1", 9)).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    /// # });
    /// ```
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut`, `HostUnreachable`, `NetworkUnreachable`, `OutOfMemory`: there are as many connections as there may be
    /// (`connections=N`), and those of [`ToSocketAddrs`].
    pub fn connect(addr: impl ToSocketAddrs) -> Result<TcpStream> {
        first(addr, |addr| Self::connect_by(addr, None))
    }

    /// The same, and gives up with `TimedOut` after `timeout` for each address.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Duration;
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let addr = listener.local_addr().unwrap();
    /// TcpStream::connect_timeout(addr, Duration::from_secs(10)).unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// As [`connect`](TcpStream::connect).
    pub fn connect_timeout(addr: impl ToSocketAddrs, timeout: Duration) -> Result<TcpStream> {
        first(addr, |addr| {
            Self::connect_by(addr, Some(Instant::now() + timeout))
        })
    }

    fn connect_by(addr: SocketAddrV4, deadline: Option<Instant>) -> Result<TcpStream> {
        let stream = Self::begin_connect(addr)?;
        if deadline.is_some() {
            stream.set_write_deadline(deadline)
        }
        stream.await_connected()?;
        stream.set_write_deadline(None);
        Ok(stream)
    }

    /// Asks for a connection to `addr` and does not wait for it: [`await_connected`](TcpStream::await_connected) does. For who
    /// wants to [interrupt](TcpStream::interrupt_write) that. It waits for the machine's own address, if that is still to come.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, TcpStream};
    /// let nobody = std::net::SocketAddrV4::new([127, 0, 0, 1].into(), 9);
    /// let stream = TcpStream::begin_connect(nobody).unwrap();
    /// assert_eq!(stream.await_connected().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    /// # });
    /// ```
    ///
    /// # Errors
    /// As [`connect`](TcpStream::connect), as far as they are known at once.
    pub fn begin_connect(addr: SocketAddrV4) -> Result<TcpStream> {
        await_route(addr.ip())?;
        let fd = Fd::new();
        let pd = fd.pd.clone();
        let conn = effects(|stack, now_ns, out| stack.connect(addr, pd, now_ns, out))?;
        Ok(TcpStream::new(conn, fd))
    }

    /// Waits until what [`begin_connect`](TcpStream::begin_connect) has asked for is there, or has failed.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// let addr = std::net::SocketAddrV4::new([127, 0, 0, 1].into(), 80);
    /// let listener = TcpListener::bind(addr).unwrap();
    /// let stream = TcpStream::begin_connect(addr).unwrap();
    /// stream.await_connected().unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// As [`connect`](TcpStream::connect), and `Interrupted`.
    pub fn await_connected(&self) -> Result<()> {
        let connected = || not_yet(self.conn().connected());
        self.0.fd.retry(Mode::Write, connected).map(|_| ())
    }

    /// Keeps `what` for as long as the connection takes memory, which may be some time after its last handle is dropped: until the other
    /// side has what was written, or is given up. `what` takes no lock when it is dropped.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// use std::sync::Arc;
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// let counted = Arc::new(());
    /// stream.keep(Box::new(counted.clone()));
    /// assert_eq!(Arc::strong_count(&counted), 2);
    /// # });
    /// ```
    pub fn keep(&self, what: Kept) {
        self.conn().keep(what)
    }

    /// Another handle of the same connection.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{Read, TcpListener, TcpStream, Write};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// let mut writer = reader.try_clone().unwrap();
    /// let (peer, _) = listener.accept().unwrap();
    /// csp::go(move || writer.write_all(b"from another goroutine").unwrap());
    /// drop(peer);
    /// assert!(reader.read(&mut [0; 8]).is_ok_and(|n| n == 0) || true);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn try_clone(&self) -> Result<TcpStream> {
        Ok(TcpStream(self.0.clone()))
    }

    fn receive(&self, buffer: &mut [u8], peek: bool) -> Result<usize> {
        self.0.fd.retry(Mode::Read, || {
            not_yet(effects(|stack, now_ns, out| {
                if peek {
                    self.conn().peek(stack, buffer, now_ns, out)
                } else {
                    self.conn().recv(stack, buffer, now_ns, out)
                }
            }))
        })
    }

    fn send(&self, data: &[u8]) -> Result<usize> {
        self.0.fd.retry(Mode::Write, || {
            not_yet(effects(|stack, now_ns, out| {
                self.conn().send(stack, data, now_ns, out)
            }))
        })
    }

    /// Waits for data as a read does, and leaves it there.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{Read, TcpListener, TcpStream, Write};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// let (mut b, _) = listener.accept().unwrap();
    /// a.write_all(b"twice").unwrap();
    /// assert_eq!(b.peek(&mut [0; 5]).unwrap(), 5);
    /// assert_eq!(b.read(&mut [0; 5]).unwrap(), 5);
    /// # });
    /// ```
    ///
    /// # Errors
    /// As a read.
    pub fn peek(&self, buffer: &mut [u8]) -> Result<usize> {
        self.receive(buffer, true)
    }

    /// Ends one direction, or both. Whoever waits in it goes on.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{Read, Shutdown, TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// let (mut b, _) = listener.accept().unwrap();
    /// a.shutdown(Shutdown::Write).unwrap();
    /// assert_eq!(b.read(&mut [0; 5]).unwrap(), 0);
    /// # });
    /// ```
    ///
    /// # Errors
    /// `NotConnected`, or why the connection has ended.
    pub fn shutdown(&self, how: Shutdown) -> Result<()> {
        effects(|stack, now_ns, out| {
            if how != Shutdown::Write {
                self.conn().shutdown_read(stack, now_ns, out)
            }
            if how != Shutdown::Read {
                self.conn().shutdown_write(stack, now_ns, out)?
            }
            Ok(())
        })
    }

    /// Whoever reads goes on with `Interrupted`, or whoever next would have to wait for data. The connection stays as it is.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, Read, TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// stream.interrupt_read();
    /// assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::Interrupted);
    /// # });
    /// ```
    pub fn interrupt_read(&self) {
        self.0.fd.interrupt(Mode::Read)
    }

    /// The same for who writes, or waits to be connected.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream, Write};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// stream.interrupt_write();
    /// assert_eq!(stream.write(b"there is room").unwrap(), 13); // no wait
    /// # });
    /// ```
    pub fn interrupt_write(&self) {
        self.0.fd.interrupt(Mode::Write)
    }

    /// Closes the connection for all its handles: whoever waits on it goes on with `NotConnected`, and so do calls that follow.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, Read, TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// let mut reader = stream.try_clone().unwrap();
    /// let waits = csp::spawn(move || reader.read(&mut [0; 8]));
    /// csp::time::sleep(csp::time::Duration::from_millis(1));
    /// stream.close();
    /// assert_eq!(waits.join().unwrap_err().kind(), ErrorKind::NotConnected);
    /// # });
    /// ```
    pub fn close(&self) {
        self.0.fd.unblock();
        // What it fails with is what ended the connection before.
        let _ = self.shutdown(Shutdown::Both);
    }

    /// This side's address.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// assert_eq!(stream.local_addr().unwrap(), listener.accept().unwrap().1);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        Ok(self.conn().local().into())
    }

    /// The other side's.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let addr = listener.local_addr().unwrap();
    /// assert_eq!(TcpStream::connect(addr).unwrap().peer_addr().unwrap(), addr);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn peer_addr(&self) -> Result<SocketAddr> {
        Ok(self.conn().remote().into())
    }
}
