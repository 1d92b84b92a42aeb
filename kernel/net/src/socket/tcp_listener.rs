//! Who accepts connections (std: `net::TcpListener`).

use super::addr::first;
use super::fd::Fd;
use super::machine::{await_route, effects, machine, say_listens};
use super::{Error, ErrorKind, Result, TcpStream, ToSocketAddrs};
use crate::stack::tcp::Listener;
use core::fmt;
use core::net::SocketAddr;
use csp::time::Instant;
use sched::netpoll::{Mode, PollDesc};

/// Connections that wait to be accepted at most; what is beyond them waits in the network (Linux: `net.core.somaxconn`).
const BACKLOG: usize = 4096;

/// A TCP socket that accepts connections. It is closed when it is dropped; [`close`](TcpListener::close) does so while others still
/// wait on it.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use net::socket::{TcpListener, TcpStream};
/// let listener = TcpListener::bind(("127.0.0.1", 80)).unwrap();
/// csp::go(|| drop(TcpStream::connect("127.0.0.1:80")));
/// let (stream, peer) = listener.accept().unwrap();
/// assert_eq!(stream.peer_addr().unwrap(), peer);
/// # });
/// ```
pub struct TcpListener {
    listener: Listener<PollDesc>,
    fd: Fd,
}

impl TcpListener {
    /// Listens at an address of this machine; 0.0.0.0 is all of them, port 0 one that is free.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, TcpListener};
    /// let one = TcpListener::bind("0.0.0.0:80").unwrap();
    /// assert_eq!(TcpListener::bind("0.0.0.0:80").unwrap_err().kind(), ErrorKind::AddrInUse);
    /// drop(one);
    /// TcpListener::bind("0.0.0.0:80").unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`, and those of [`ToSocketAddrs`].
    pub fn bind(addr: impl ToSocketAddrs) -> Result<TcpListener> {
        Self::bind_with_backlog(addr, BACKLOG)
    }

    /// The same with `backlog` connections at most that wait to be accepted, at least one (C: the argument of `listen`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::TcpListener;
    /// TcpListener::bind_with_backlog("127.0.0.1:80", 16).unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// As [`bind`](TcpListener::bind).
    pub fn bind_with_backlog(addr: impl ToSocketAddrs, backlog: usize) -> Result<TcpListener> {
        first(addr, |addr| {
            await_route(addr.ip())?;
            let fd = Fd::new();
            let listener = machine().stack.listen(addr, backlog, fd.pd.clone())?;
            say_listens("tcp", listener.local());
            Ok(TcpListener { listener, fd })
        })
    }

    /// Waits for a connection: it, and who asked for it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Instant;
    /// use net::socket::{ErrorKind, TcpListener};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// listener.set_deadline(Some(Instant::now()));
    /// assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::TimedOut);
    /// # });
    /// ```
    ///
    /// # Errors
    /// `NotConnected`: it is closed. `TimedOut`, `WouldBlock`.
    pub fn accept(&self) -> Result<(TcpStream, SocketAddr)> {
        let fd = Fd::new();
        let conn = self.fd.retry(Mode::Read, || {
            Ok(self.listener.accept(&machine().stack, fd.pd.clone()))
        })?;
        let peer = conn.remote().into();
        Ok((TcpStream::new(conn, fd), peer))
    }

    /// The connections, one after another, until the listener is closed.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:80").unwrap();
    /// csp::go(|| (0..3).for_each(|_| drop(TcpStream::connect("127.0.0.1:80"))));
    /// assert_eq!(listener.incoming().take(3).filter(|s| s.is_ok()).count(), 3);
    /// # });
    /// ```
    pub fn incoming(&self) -> impl Iterator<Item = Result<TcpStream>> {
        let accept = || self.accept().map(|(stream, _)| stream);
        let closed = |error: &Error| error.kind() == ErrorKind::NotConnected;
        core::iter::repeat_with(accept).take_while(move |s| !s.as_ref().is_err_and(closed))
    }

    /// Where it listens.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let listener = net::socket::TcpListener::bind("127.0.0.1:0").unwrap();
    /// assert_ne!(listener.local_addr().unwrap().port(), 0);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        Ok(self.listener.local().into())
    }

    /// From `when` on, accepting fails with `TimedOut` (Go: `TCPListener.SetDeadline`). None: never.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant};
    /// let listener = net::socket::TcpListener::bind("127.0.0.1:0").unwrap();
    /// listener.set_deadline(Some(Instant::now() + Duration::from_millis(1)));
    /// assert!(listener.accept().is_err());
    /// # });
    /// ```
    pub fn set_deadline(&self, when: Option<Instant>) {
        self.fd.set_deadline(Mode::Read, when)
    }

    /// Where accepting would have to wait, it fails with `WouldBlock`.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, TcpListener};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// listener.set_nonblocking(true).unwrap();
    /// assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn set_nonblocking(&self, on: bool) -> Result<()> {
        self.fd.set_nonblocking(on);
        Ok(())
    }

    /// Whoever accepts goes on with `Interrupted`, or whoever next would have to wait for a connection. It still listens.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, TcpListener};
    /// let listener = std::sync::Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    /// let accepts = { let listener = listener.clone(); csp::spawn(move || listener.accept().map(|_| ())) };
    /// listener.interrupt();
    /// assert_eq!(accepts.join().unwrap_err().kind(), ErrorKind::Interrupted);
    /// # });
    /// ```
    pub fn interrupt(&self) {
        self.fd.interrupt(Mode::Read)
    }

    /// Listens no longer: whoever accepts goes on with `NotConnected`, connections that nobody has accepted are reset.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, TcpListener};
    /// let listener = std::sync::Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    /// let accepts = { let listener = listener.clone(); csp::spawn(move || listener.accept().map(|_| ())) };
    /// csp::time::sleep(csp::time::Duration::from_millis(1));
    /// listener.close();
    /// assert_eq!(accepts.join().unwrap_err().kind(), ErrorKind::NotConnected);
    /// # });
    /// ```
    pub fn close(&self) {
        self.fd.unblock();
        effects(|stack, now_ns, out| self.listener.close(stack, now_ns, out))
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        self.close()
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TcpListener({})", self.listener.local())
    }
}
