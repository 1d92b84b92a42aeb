//! TCP as a script wants it: calls that wait for the machine.

use super::{Peer, SocketHandle, State};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

/// Buffers of a socket, unless the script says otherwise.
const BUFFER: usize = 64 << 10;

impl Peer {
    /// A socket with buffers of so many bytes: a small one to receive is a small window.
    pub fn tcp_socket(&mut self, receive: usize, send: usize) -> SocketHandle {
        let buffer = |bytes: usize| SocketBuffer::new(vec![0; bytes]);
        self.sockets.add(Socket::new(buffer(receive), buffer(send)))
    }

    /// smoltcp's own socket, for what is not here.
    pub fn tcp(&mut self, at: SocketHandle) -> &mut Socket<'static> {
        self.sockets.get_mut(at)
    }

    /// The socket is gone, without a word to the machine.
    pub fn forget(&mut self, at: SocketHandle) {
        drop(self.sockets.remove(at))
    }

    /// Waits for one connection on `port`, with another call each.
    pub fn listen(&mut self, port: u16) -> Result<SocketHandle, String> {
        let at = self.tcp_socket(BUFFER, BUFFER);
        let listens = self.tcp(at).listen(port);
        listens.map_err(|e| format!("listen on {port}: {e}"))?;
        Ok(at)
    }

    /// The connection that the listening socket has become.
    ///
    /// # Errors
    /// Nobody comes.
    pub fn accepted(&mut self, at: SocketHandle) -> Result<(), String> {
        self.until("a connection from the machine", |peer| {
            Ok(peer.tcp(at).may_send().then_some(()))
        })
    }

    /// Begins to connect, from the socket `at`.
    ///
    /// # Errors
    /// It is in use.
    pub fn dial_with(&mut self, at: SocketHandle, to: SocketAddrV4) -> Result<(), String> {
        let port = self.next_port;
        // Up to the end, and again from the first of those that nobody else uses.
        self.next_port = port.checked_add(1).unwrap_or(32_768);
        let socket = self.sockets.get_mut::<Socket>(at);
        let dialled = socket.connect(self.iface.context(), (*to.ip(), to.port()), port);
        dialled.map_err(|e| format!("connect to {to}: {e}"))
    }

    /// Begins to connect.
    ///
    /// # Errors
    /// As [`Peer::dial_with`].
    pub fn dial(&mut self, to: SocketAddrV4) -> Result<SocketHandle, String> {
        let at = self.tcp_socket(BUFFER, BUFFER);
        self.dial_with(at, to).map(|()| at)
    }

    /// The connection stands.
    ///
    /// # Errors
    /// It is refused, or nobody answers.
    pub fn connected(&mut self, at: SocketHandle) -> Result<(), String> {
        self.until("an answer to connect", |peer| match peer.tcp(at).state() {
            State::Closed => Err("connect: refused".into()),
            _ if peer.tcp(at).may_send() => Ok(Some(())),
            _ => Ok(None),
        })
    }

    /// A connection to the machine.
    ///
    /// # Errors
    /// As [`Peer::connected`].
    pub fn connect(&mut self, to: SocketAddrV4) -> Result<SocketHandle, String> {
        let at = self.dial(to)?;
        self.connected(at)?;
        Ok(at)
    }

    /// The same to a server that listens soon after the machine has its address.
    ///
    /// # Errors
    /// As [`Peer::connected`]; nobody listens for as long as a machine may take.
    pub fn connect_when_it_listens(&mut self, to: SocketAddrV4) -> Result<SocketHandle, String> {
        let begin = Instant::now();
        loop {
            match self.connect(to) {
                Err(why) if why.contains("refused") && begin.elapsed() < crate::hung() => {
                    self.run_for(Duration::from_millis(5))
                }
                done => return done,
            }
        }
    }

    /// Sends all of it, as the machine takes it; it need not have arrived.
    ///
    /// # Errors
    /// The connection ends.
    pub fn send_all(&mut self, at: SocketHandle, mut bytes: &[u8]) -> Result<(), String> {
        self.until("room to send", |peer| {
            let sent = peer.tcp(at).send_slice(bytes);
            bytes = &bytes[sent.map_err(|e| format!("send: {e}"))?..];
            Ok(bytes.is_empty().then_some(()))
        })
    }

    /// What has come, at least one byte. Empty: the machine has closed its half.
    ///
    /// # Errors
    /// The connection was reset, or nothing comes.
    pub fn recv_some(&mut self, at: SocketHandle) -> Result<Vec<u8>, String> {
        self.until("bytes from the machine", |peer| {
            let socket = peer.tcp(at);
            if socket.can_recv() {
                let bytes = socket.recv(|bytes| (bytes.len(), bytes.to_vec()));
                return bytes.map(Some).map_err(|e| format!("receive: {e}"));
            }
            match socket.state() {
                State::CloseWait | State::LastAck | State::Closing | State::TimeWait => {
                    Ok(Some(Vec::new()))
                }
                State::Closed => Err("the connection was reset".into()),
                _ => Ok(None),
            }
        })
    }

    /// So many bytes.
    ///
    /// # Errors
    /// As [`Peer::recv_some`], or the machine closes its half before, or sends more.
    pub fn recv_exact(&mut self, at: SocketHandle, n: usize) -> Result<Vec<u8>, String> {
        let mut all = Vec::with_capacity(n);
        while all.len() < n {
            let some = self.until("bytes from the machine", |peer| {
                let socket = peer.tcp(at);
                if socket.can_recv() {
                    let mut part = vec![0; n - all.len()];
                    let got = socket.recv_slice(&mut part).map_err(|e| e.to_string())?;
                    part.truncate(got);
                    return Ok(Some(part));
                }
                if socket.may_recv() {
                    return Ok(None);
                }
                Err(format!(
                    "the connection ended after {} of {n} bytes",
                    all.len()
                ))
            })?;
            all.extend(some)
        }
        Ok(all)
    }

    /// All bytes up to the end of the machine's half.
    ///
    /// # Errors
    /// As [`Peer::recv_some`].
    pub fn recv_to_end(&mut self, at: SocketHandle) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        loop {
            let some = self.recv_some(at)?;
            if some.is_empty() {
                return Ok(all);
            }
            all.extend(some)
        }
    }

    /// Closes this half; the machine reads to the end of what was sent.
    pub fn shut(&mut self, at: SocketHandle) {
        self.tcp(at).close();
        self.poll();
    }

    /// Resets the connection.
    pub fn reset(&mut self, at: SocketHandle) {
        self.tcp(at).abort();
        self.poll();
    }

    /// Both halves are closed, and the socket is gone.
    ///
    /// # Errors
    /// The machine does not close its half.
    pub fn finish(&mut self, at: SocketHandle) -> Result<(), String> {
        self.tcp(at).close();
        self.until("the end of the connection", |peer| {
            let state = peer.tcp(at).state();
            Ok(matches!(state, State::Closed | State::TimeWait).then_some(()))
        })?;
        self.forget(at);
        Ok(())
    }
}
