//! What sockets call. Nothing here waits: `WouldBlock` is a value, and `Out::ready` says when to try again.

use super::TcpError;
use super::conn::{Kept, Shared};
use super::listen::Listening;
use crate::stack::{Out, Stack};
use alloc::{collections::VecDeque, sync::Arc};
use core::net::SocketAddrV4;
use core::sync::atomic::Ordering::Relaxed;
use smoltcp::socket::tcp::{RecvError, State};
use smoltcp::time::Duration;

/// The right to accept connections at an address. Ends with [`Listener::close`].
pub struct Listener<U> {
    id: u64,
    local: SocketAddrV4,
    _user: Arc<U>,
}

/// A connection. Ends with [`Conn::close`]; without that it stays for as long as the other side keeps it.
pub struct Conn<U> {
    pub(super) shared: Arc<Shared<U>>,
}

impl<U> Stack<U> {
    /// Listens at `local`; port 0: one that is free. `backlog` connections wait to be accepted, at least one.
    ///
    /// # Errors
    /// [`TcpError::AddrNotAvailable`], [`TcpError::AddrInUse`].
    pub fn listen(
        &self,
        local: SocketAddrV4,
        backlog: usize,
        user: Arc<U>,
    ) -> Result<Listener<U>, TcpError> {
        let addr = *local.ip();
        if !(addr.is_unspecified() || self.is_ours(addr)) {
            return Err(TcpError::AddrNotAvailable);
        }
        let mut demux = self.tcp.demux.lock();
        let port = match local.port() {
            0 => demux.free_port(addr).ok_or(TcpError::AddrInUse)?,
            port if demux.is_taken(addr, port) => return Err(TcpError::AddrInUse),
            port => port,
        };
        let id = demux.next_id;
        demux.next_id += 1;
        demux.listening.entry(port).or_default().push(Listening {
            id,
            addr,
            backlog: backlog.max(1),
            user: user.clone(),
            queue: VecDeque::new(),
            half: 0,
            wanted: false,
            cookies_until_ns: 0,
        });
        Ok(Listener {
            id,
            local: SocketAddrV4::new(addr, port),
            _user: user,
        })
    }
}

impl<U> Listener<U> {
    /// Where it listens.
    pub fn local(&self) -> SocketAddrV4 {
        self.local
    }

    /// The connection that has waited longest, which is `user`'s from now on. None: there is no connection; who listens is told when
    /// there is (`Readable`).
    pub fn accept(&self, stack: &Stack<U>, user: Arc<U>) -> Option<Conn<U>> {
        let shared = {
            let mut demux = stack.tcp.demux.lock();
            let l = demux.listener_by_id(self.local.port(), self.id)?;
            let first = l.queue.pop_front();
            l.wanted |= first.is_none();
            first?
        };
        shared.inner.lock().user = Some(user);
        Some(Conn { shared })
    }

    /// Listens no longer; a second time does nothing. Connections that nobody has accepted are reset.
    pub fn close(&self, stack: &Stack<U>, now_ns: u64, out: &mut dyn Out<U>) {
        let gone = stack
            .tcp
            .demux
            .lock()
            .remove_listener(self.local.port(), self.id);
        let mut net = stack.net(now_ns, out);
        for conn in gone.map(|l| l.queue).unwrap_or_default() {
            net.with_conn(&conn, |inner, net| {
                inner.closed_ns = Some(net.now_ns);
                inner.abort(TcpError::NotConnected)
            })
        }
        net.run_looped()
    }
}

impl<U> Conn<U> {
    /// Our end.
    pub fn local(&self) -> SocketAddrV4 {
        self.shared.tuple.local
    }

    /// The other end.
    pub fn remote(&self) -> SocketAddrV4 {
        self.shared.tuple.remote
    }

    /// Keeps `what` until the connection's buffers are gone, which may be long after [`Conn::close`]. What was kept before goes.
    pub fn keep(&self, what: Kept) {
        let before = self.shared.inner.lock().kept.replace(what);
        drop(before)
    }

    /// Does the connection stand? `WouldBlock`: not yet (`Writable`).
    ///
    /// # Errors
    /// Why not.
    pub fn connected(&self) -> Result<(), TcpError> {
        let mut inner = self.shared.inner.lock();
        if let Some(error) = inner.error {
            return Err(error);
        }
        if inner.is_opening() {
            inner.want_write = true;
            return Err(TcpError::WouldBlock);
        }
        Ok(())
    }

    /// Receives into `to` what there is, and takes it off. 0: the other side sends no more (or `to` is empty).
    ///
    /// # Errors
    /// [`TcpError::WouldBlock`] (`Readable`), or why there is no connection any more.
    pub fn recv(
        &self,
        stack: &Stack<U>,
        to: &mut [u8],
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Result<usize, TcpError> {
        self.receive(stack, to, now_ns, out, false)
    }

    /// As [`Conn::recv`], and leaves it there.
    ///
    /// # Errors
    /// As [`Conn::recv`].
    pub fn peek(
        &self,
        stack: &Stack<U>,
        to: &mut [u8],
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Result<usize, TcpError> {
        self.receive(stack, to, now_ns, out, true)
    }

    fn receive(
        &self,
        stack: &Stack<U>,
        to: &mut [u8],
        now_ns: u64,
        out: &mut dyn Out<U>,
        leave: bool,
    ) -> Result<usize, TcpError> {
        {
            let mut inner = self.shared.inner.lock();
            if inner.read_shut || to.is_empty() {
                return Ok(0);
            }
            if !inner.is_readable() {
                inner.want_read = true;
                return Err(TcpError::WouldBlock);
            }
            if leave && inner.socket().can_recv() {
                return Ok(inner.socket().peek_slice(to).unwrap_or(0));
            }
            if !inner.socket().can_recv() {
                return match (inner.socket().recv_slice(to), inner.error) {
                    (Err(RecvError::Finished), None) => Ok(0),
                    (_, Some(error)) => Err(error),
                    (_, None) => Err(TcpError::NotConnected),
                };
            }
        }
        let mut net = stack.net(now_ns, out);
        // The window may have opened, and that is said.
        let n = net.with_conn(&self.shared, |inner, _| {
            if inner.read_shut {
                return Ok(0); // meanwhile
            }
            match inner.socket().recv_slice(to) {
                Ok(n) if n > 0 => Ok(n),
                _ => {
                    inner.want_read = true; // another was faster
                    Err(TcpError::WouldBlock)
                }
            }
        });
        net.run_looped();
        n
    }

    /// Sends as much of `from` as there is room for.
    ///
    /// # Errors
    /// [`TcpError::WouldBlock`] (`Writable`), or why nothing can be sent any more.
    pub fn send(
        &self,
        stack: &Stack<U>,
        from: &[u8],
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Result<usize, TcpError> {
        let mut net = stack.net(now_ns, out);
        let sent = net.with_conn(&self.shared, |inner, net| {
            if net.stack.tcp.ended.load(Relaxed) {
                return Err(TcpError::WouldBlock); // for good
            }
            if let Some(error) = inner.error {
                return Err(error);
            }
            if inner.is_opening() {
                inner.want_write = true;
                return Err(TcpError::WouldBlock);
            }
            match inner.socket().send_slice(from) {
                Ok(0) if !from.is_empty() => {
                    inner.want_write = true;
                    Err(TcpError::WouldBlock)
                }
                Ok(n) => Ok(n),
                Err(_) => Err(TcpError::BrokenPipe),
            }
        });
        net.run_looped();
        sent
    }

    /// Sends no more: the other side receives what is on its way, and then the end.
    ///
    /// # Errors
    /// [`TcpError::NotConnected`], or why there is no connection any more.
    pub fn shutdown_write(
        &self,
        stack: &Stack<U>,
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Result<(), TcpError> {
        let mut net = stack.net(now_ns, out);
        let shut = net.with_conn(&self.shared, |inner, _| {
            match (inner.error, inner.socket().state()) {
                (Some(error), _) => return Err(error),
                (_, State::SynSent | State::SynReceived) => return Err(TcpError::NotConnected),
                _ => inner.socket().close(),
            }
            Ok(())
        });
        net.run_looped();
        shut
    }

    /// Receives no more: what comes is thrown away, and [`Conn::recv`] says 0.
    pub fn shutdown_read(&self, stack: &Stack<U>, now_ns: u64, out: &mut dyn Out<U>) {
        let mut net = stack.net(now_ns, out);
        net.with_conn(&self.shared, |inner, _| {
            inner.read_shut = true;
            inner.discard()
        });
        net.run_looped()
    }

    /// Lets it go. What was sent still arrives; what has come and nobody has received makes it a reset, as does what comes from now
    /// on.
    pub fn close(self, stack: &Stack<U>, now_ns: u64, out: &mut dyn Out<U>) {
        let mut net = stack.net(now_ns, out);
        let user = net.with_conn(&self.shared, |inner, net| {
            inner.closed_ns = Some(net.now_ns);
            if inner.socket().can_recv() {
                inner.abort(TcpError::NotConnected)
            } else {
                inner.socket().close()
            }
            inner.user.take()
        });
        net.run_looped();
        drop(user)
    }

    /// Throws it away: the other side is told so.
    pub fn abort(self, stack: &Stack<U>, now_ns: u64, out: &mut dyn Out<U>) {
        let mut net = stack.net(now_ns, out);
        let user = net.with_conn(&self.shared, |inner, net| {
            inner.closed_ns = Some(net.now_ns);
            inner.abort(TcpError::NotConnected);
            inner.user.take()
        });
        net.run_looped();
        drop(user)
    }

    /// False: small segments wait for the acknowledgement of what was sent before (Nagle). They do not, if nobody says so.
    pub fn set_nodelay(&self, nodelay: bool) {
        self.shared
            .inner
            .lock()
            .socket()
            .set_nagle_enabled(!nodelay)
    }

    /// Do small segments wait?
    pub fn nodelay(&self) -> bool {
        !self.shared.inner.lock().socket().nagle_enabled()
    }

    /// Asks the other side whether it is still there, after so long without a word and so often again; after nine questions without an
    /// answer the connection ends with [`TcpError::TimedOut`], or [`TcpError::HostUnreachable`] if its neighbour is gone as well. None: it is not asked.
    pub fn set_keepalive(
        &self,
        stack: &Stack<U>,
        every_ns: Option<u64>,
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) {
        let every_ns = every_ns.map(|ns| ns.max(1_000_000));
        let mut net = stack.net(now_ns, out);
        net.with_conn(&self.shared, |inner, _| {
            inner.keep_ns = every_ns.unwrap_or(0);
            let every = every_ns.map(|ns| Duration::from_micros(ns / 1000));
            inner.socket().set_keep_alive(every)
        });
        net.run_looped()
    }

    /// Routers that its packets may pass (1 to 255; 64 if nobody says so).
    pub fn set_ttl(&self, ttl: u8) {
        let ttl = (ttl != 0).then_some(ttl);
        self.shared.inner.lock().socket().set_hop_limit(ttl)
    }

    /// Why it ended, if not in peace.
    pub fn error(&self) -> Option<TcpError> {
        self.shared.inner.lock().error
    }
}
