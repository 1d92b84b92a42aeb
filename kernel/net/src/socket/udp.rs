//! Datagrams (std: `net::UdpSocket`).

use super::addr::first;
use super::fd::Fd;
use super::machine::{await_route, effects, machine, say_listens};
use super::{ErrorKind, Result, ToSocketAddrs};
use crate::stack::udp::{Socket, UdpError};
use alloc::sync::Arc;
use core::fmt;
use core::net::{SocketAddr, SocketAddrV4};
use csp::time::Instant;
use sched::netpoll::{Mode, PollDesc};

/// A UDP socket. It is closed when it is dropped; [`close`](UdpSocket::close) does so while others still use it.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use net::socket::UdpSocket;
/// let a = UdpSocket::bind("127.0.0.1:0").unwrap();
/// let b = UdpSocket::bind("127.0.0.1:0").unwrap();
/// a.send_to(b"hello", b.local_addr().unwrap()).unwrap();
/// let mut buffer = [0; 10];
/// let (n, from) = b.recv_from(&mut buffer).unwrap();
/// assert_eq!((&buffer[..n], from), (&b"hello"[..], a.local_addr().unwrap()));
/// # });
/// ```
pub struct UdpSocket {
    socket: Arc<Socket<PollDesc>>,
    fd: Fd,
}

/// None: not yet.
fn not_yet<T>(result: core::result::Result<T, UdpError>) -> Result<Option<T>> {
    match result {
        Ok(t) => Ok(Some(t)),
        Err(UdpError::WouldBlock) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl UdpSocket {
    /// A socket at an address of this machine; 0.0.0.0 is all of them, port 0 one that is free.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, UdpSocket};
    /// let one = UdpSocket::bind(("127.0.0.1", 70)).unwrap();
    /// let error = UdpSocket::bind(("127.0.0.1", 70)).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::AddrInUse);
    /// # });
    /// ```
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable`, and those of [`ToSocketAddrs`].
    pub fn bind(addr: impl ToSocketAddrs) -> Result<UdpSocket> {
        first(addr, |addr| {
            await_route(addr.ip())?;
            let fd = Fd::new();
            let socket = machine().stack.udp_bind(addr, fd.pd.clone())?;
            if addr.port() != 0 {
                say_listens("udp", socket.local())
            }
            Ok(UdpSocket { socket, fd })
        })
    }

    /// Where it is bound.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let socket = net::socket::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// assert_ne!(socket.local_addr().unwrap().port(), 0);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        Ok(machine().stack.udp_local(&self.socket).into())
    }

    /// Whom it talks to.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, UdpSocket};
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// assert_eq!(socket.peer_addr().unwrap_err().kind(), ErrorKind::NotConnected);
    /// # });
    /// ```
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn peer_addr(&self) -> Result<SocketAddr> {
        let peer = self.socket.peer().ok_or(ErrorKind::NotConnected)?;
        Ok(peer.into())
    }

    /// Talks to `peer` alone from now on: [`send`](UdpSocket::send) goes there, and only what comes from there is received.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::UdpSocket;
    /// let (a, b) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    /// a.connect(b.local_addr().unwrap()).unwrap();
    /// b.connect(a.local_addr().unwrap()).unwrap();
    /// a.send(b"1").unwrap();
    /// assert_eq!(b.recv(&mut [0; 8]).unwrap(), 1);
    /// # });
    /// ```
    ///
    /// # Errors
    /// `NetworkUnreachable`, and those of [`ToSocketAddrs`].
    pub fn connect(&self, peer: impl ToSocketAddrs) -> Result<()> {
        first(peer, |peer| {
            await_route(peer.ip())?;
            Ok(machine().stack.udp_connect(&self.socket, peer)?)
        })
    }

    fn send_v4(&self, dest: Option<SocketAddrV4>, data: &[u8]) -> Result<usize> {
        self.fd.retry(Mode::Write, || {
            not_yet(effects(|stack, now_ns, out| {
                stack.udp_send(&self.socket, dest, data, now_ns, out)
            }))
        })
    }

    /// Sends `data` to `dest`; waits while the card is full. How many bytes: all. That it arrives, nobody promises.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, UdpSocket};
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// let error = socket.send_to(&[0; 70_000], "127.0.0.1:9").unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput); // too long
    /// # });
    /// ```
    ///
    /// # Errors
    /// `InvalidInput`: too long. `NetworkUnreachable`, `PermissionDenied`, `TimedOut`, `WouldBlock`, `NotConnected`: closed.
    pub fn send_to(&self, data: &[u8], dest: impl ToSocketAddrs) -> Result<usize> {
        first(dest, |dest| {
            await_route(dest.ip())?;
            self.send_v4(Some(dest), data)
        })
    }

    /// The same to the peer.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, UdpSocket};
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// assert_eq!(socket.send(b"to whom?").unwrap_err().kind(), ErrorKind::NotConnected);
    /// # });
    /// ```
    ///
    /// # Errors
    /// As [`send_to`](UdpSocket::send_to). `ConnectionRefused`: a datagram before found nobody there.
    pub fn send(&self, data: &[u8]) -> Result<usize> {
        self.send_v4(None, data)
    }

    /// Waits for a datagram: how many of its bytes are in `buffer`, and who sent it. What does not fit is lost.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Instant;
    /// use net::socket::{ErrorKind, UdpSocket};
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// socket.set_read_deadline(Some(Instant::now()));
    /// assert_eq!(socket.recv_from(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # });
    /// ```
    ///
    /// # Errors
    /// `TimedOut`, `WouldBlock`, `NotConnected`: closed. `ConnectionRefused`: a datagram sent before found nobody.
    pub fn recv_from(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr)> {
        self.fd.retry(Mode::Read, || {
            let got = not_yet(self.socket.recv(buffer))?;
            Ok(got.map(|got| (got.len, got.from.into())))
        })
    }

    /// The same without who sent it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// socket.send_to(b"", socket.local_addr().unwrap()).unwrap();
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 0); // an empty one is one
    /// # });
    /// ```
    ///
    /// # Errors
    /// As [`recv_from`](UdpSocket::recv_from).
    pub fn recv(&self, buffer: &mut [u8]) -> Result<usize> {
        Ok(self.recv_from(buffer)?.0)
    }

    /// As [`recv_from`](UdpSocket::recv_from), and the datagram stays.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// socket.send_to(b"twice", socket.local_addr().unwrap()).unwrap();
    /// assert_eq!(socket.peek_from(&mut [0; 8]).unwrap().0, 5);
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 5);
    /// # });
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn peek_from(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr)> {
        self.fd.retry(Mode::Read, || {
            let got = not_yet(self.socket.peek(buffer))?;
            Ok(got.map(|got| (got.len, got.from.into())))
        })
    }

    /// From `when` on, receiving fails with `TimedOut`, what waits at that moment as well. None: never.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant};
    /// let socket = net::socket::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// socket.set_read_deadline(Some(Instant::now() + Duration::from_millis(1)));
    /// assert!(socket.recv(&mut [0; 8]).is_err());
    /// # });
    /// ```
    pub fn set_read_deadline(&self, when: Option<Instant>) {
        self.fd.set_deadline(Mode::Read, when)
    }

    /// The same for sending.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Instant;
    /// let socket = net::socket::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// socket.set_write_deadline(Some(Instant::now()));
    /// assert!(socket.send_to(b"late", "127.0.0.1:9").is_err());
    /// # });
    /// ```
    pub fn set_write_deadline(&self, when: Option<Instant>) {
        self.fd.set_deadline(Mode::Write, when)
    }

    /// Where a call would have to wait, it fails with `WouldBlock`.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, UdpSocket};
    /// let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    /// socket.set_nonblocking(true).unwrap();
    /// assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn set_nonblocking(&self, on: bool) -> Result<()> {
        self.fd.set_nonblocking(on);
        Ok(())
    }

    /// May it send to all of its network at once? At first not.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let socket = net::socket::UdpSocket::bind("127.0.0.1:0").unwrap();
    /// socket.set_broadcast(true).unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn set_broadcast(&self, on: bool) -> Result<()> {
        self.socket.set_broadcast(on);
        Ok(())
    }

    /// Closes it: whoever waits on it goes on with `NotConnected`, and so do calls that follow.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, UdpSocket};
    /// let socket = std::sync::Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    /// let reader = { let socket = socket.clone(); csp::spawn(move || socket.recv(&mut [0; 8])) };
    /// csp::time::sleep(csp::time::Duration::from_millis(1));
    /// socket.close();
    /// assert_eq!(reader.join().unwrap_err().kind(), ErrorKind::NotConnected);
    /// # });
    /// ```
    pub fn close(&self) {
        self.fd.unblock();
        machine().stack.udp_close(&self.socket)
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.close()
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UdpSocket({})", self.socket.local())
    }
}
