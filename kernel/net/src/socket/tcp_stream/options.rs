//! How a connection behaves: deadlines, whether it waits, Nagle, keep-alive, TTL.

use super::TcpStream;
use crate::socket::machine::effects;
use crate::socket::{ErrorKind, Result};
use csp::time::{Duration, Instant};
use sched::netpoll::Mode;

impl TcpStream {
    /// From `when` on, reads fail with `TimedOut`, one that waits at that moment as well. None: never. A read after the deadline
    /// was moved works again.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant};
    /// use net::socket::{ErrorKind, Read, TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// stream.set_read_deadline(Some(Instant::now() + Duration::from_millis(1)));
    /// assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
    /// # });
    /// ```
    pub fn set_read_deadline(&self, when: Option<Instant>) {
        self.0.fd.set_deadline(Mode::Read, when)
    }

    /// The same for writes.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Instant;
    /// use net::socket::{ErrorKind, TcpListener, TcpStream, Write};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// stream.set_write_deadline(Some(Instant::now()));
    /// assert_eq!(stream.write(b"late").unwrap_err().kind(), ErrorKind::TimedOut);
    /// # });
    /// ```
    pub fn set_write_deadline(&self, when: Option<Instant>) {
        self.0.fd.set_deadline(Mode::Write, when)
    }

    /// Where a call would have to wait, it fails with `WouldBlock`.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{ErrorKind, Read, TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// stream.set_nonblocking(true).unwrap();
    /// assert_eq!(stream.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn set_nonblocking(&self, on: bool) -> Result<()> {
        self.0.fd.set_nonblocking(on);
        Ok(())
    }

    /// False: small segments wait for the acknowledgement of what went before (Nagle). At first they do not, as in Go.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// assert!(stream.nodelay().unwrap());
    /// stream.set_nodelay(false).unwrap();
    /// assert!(!stream.nodelay().unwrap());
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn set_nodelay(&self, on: bool) -> Result<()> {
        self.conn().set_nodelay(on);
        Ok(())
    }

    /// Do small segments leave at once?
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// assert!(TcpStream::connect(listener.local_addr().unwrap()).unwrap().nodelay().unwrap());
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn nodelay(&self) -> Result<bool> {
        Ok(self.conn().nodelay())
    }

    /// After so long without a word the other side is asked whether it is there, and so often again; without an answer to nine
    /// questions the connection ends with `TimedOut`, or `HostUnreachable` if it does not answer to ARP either. None, at first: it is not asked.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Duration;
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// stream.set_keepalive(Some(Duration::from_secs(15))).unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    /// None today.
    pub fn set_keepalive(&self, every: Option<Duration>) -> Result<()> {
        let every_ns = every.map(|d| d.as_nanos().try_into().unwrap_or(u64::MAX));
        effects(|stack, now_ns, out| self.conn().set_keepalive(stack, every_ns, now_ns, out));
        Ok(())
    }

    /// Routers that its packets may pass, 1 to 255; at first 64.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use net::socket::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    /// let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    /// stream.set_ttl(1).unwrap();
    /// assert!(stream.set_ttl(256).is_err());
    /// # });
    /// ```
    ///
    /// # Errors
    /// `InvalidInput`: another number.
    pub fn set_ttl(&self, ttl: u32) -> Result<()> {
        match u8::try_from(ttl) {
            Ok(ttl) if ttl != 0 => self.conn().set_ttl(ttl),
            _ => return Err(ErrorKind::InvalidInput.into()),
        }
        Ok(())
    }
}
