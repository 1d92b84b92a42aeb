//! UDP (RFC 768): who gets which datagram.
//!
//! ```text
//!              input                         recv
//!   packet ──► port ──► socket: queue ──────────────► caller
//!                │  └─► no socket: Verdict::Nobody ─► a complaint by ICMP
//!   ICMP's complaint ─► connected socket: refused ──► caller, once
//! ```
//!
//! Nothing in this file waits or sends: [`Udp::input`] says what became of a packet, [`header`] lays out what is to go, and
//! readiness is told to a closure. Locks: the table's and a socket's, never both, none while the closure runs (I-ONE). What binds
//! it to the stack is `udp/calls.rs`. Echoes have a table of the same kind, with identifiers for ports.

mod calls;
mod socket;
#[cfg(test)]
mod tests;

pub(super) use calls::bind;
pub use socket::{Received, Socket, UdpError};

use super::common::EPHEMERAL;
use super::icmp::{Quoted, Reason};
use super::secret::Secret;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use base::SpinLock;
use core::net::{Ipv4Addr, SocketAddrV4};
use smoltcp::wire::{IpProtocol, UdpPacket};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;
/// The sockets, by port.
pub struct Udp<U> {
    table: SpinLock<Table<U>>,
}

struct Table<U> {
    /// Sockets that share a port are bound to different addresses of ours.
    ports: BTreeMap<u16, Vec<Arc<Socket<U>>>>,
    secret: Secret,
    /// Ports that were given to who wanted any.
    drawn: u64,
}

/// Why a port is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindError {
    /// Somebody has it.
    InUse,
    /// Every port for everybody is taken.
    NoPorts,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in a queue.
    Delivered,
    /// Nobody listens there: its sender wants to know that, if it was meant for us alone.
    Nobody,
    /// It is shorter than it says, or than a header, or goes to port 0.
    Malformed,
    /// The sum over it is wrong.
    Checksum,
    /// Whom it is for does not take what he has.
    QueueFull,
}

/// Where a packet came from and went to, by its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Who sent it.
    pub source: Ipv4Addr,
    /// Where it went.
    pub dest: Ipv4Addr,
    /// That is everybody's address: each socket at the port gets it.
    pub to_all: bool,
}

impl<U> Udp<U> {
    /// No sockets. `seed`: of the ports' order, to be kept from others.
    pub fn new(seed: u64) -> Udp<U> {
        Udp {
            table: SpinLock::new(
                socket::RANK,
                Table {
                    ports: BTreeMap::new(),
                    secret: Secret::new(seed, 0x7564_7000),
                    drawn: 0,
                },
            ),
        }
    }

    /// A socket at `local`; 0.0.0.0 is every address, port 0 some port that is free. That the address is ours, the caller knows.
    ///
    /// # Errors
    /// The port is taken, at that address or at all of them.
    pub fn bind(&self, local: SocketAddrV4, user: Arc<U>) -> Result<Arc<Socket<U>>, BindError> {
        let mut table = self.table.lock();
        let port = match local.port() {
            0 => table.free_port(*local.ip())?,
            port if table.is_free(*local.ip(), port) => port,
            _ => return Err(BindError::InUse),
        };
        let socket = Arc::new(Socket::new(SocketAddrV4::new(*local.ip(), port), user));
        table.ports.entry(port).or_default().push(socket.clone());
        Ok(socket)
    }

    /// Takes the socket out: its port is free, what it had not yet received is gone. Who waits for it, the caller wakes.
    pub fn close(&self, socket: &Arc<Socket<U>>) {
        let port = socket.local().port();
        let mut table = self.table.lock();
        let sockets = table.ports.get_mut(&port);
        let at = sockets.as_ref().and_then(|sockets| {
            let mut all = sockets.iter();
            all.position(|other| Arc::ptr_eq(other, socket))
        });
        if let (Some(sockets), Some(at)) = (sockets, at) {
            sockets.swap_remove(at);
            if sockets.is_empty() {
                table.ports.remove(&port);
            }
        }
        drop(table);
        socket.shut()
    }

    /// How many sockets there are.
    pub fn len(&self) -> usize {
        self.table.lock().ports.values().map(Vec::len).sum()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A packet's payload came. `checked`: its checksum need not be looked at. `readable` is called for each socket that has got
    /// it.
    pub fn input(
        &self,
        path: Path,
        payload: &[u8],
        checked: bool,
        readable: &mut dyn FnMut(&Arc<U>),
    ) -> Verdict {
        let (from, port, data) = match read(path, payload, checked) {
            Ok(read) => read,
            Err(verdict) => return verdict,
        };
        self.deliver(path, port, from, data, readable)
    }

    /// Data from `from` for `port`.
    pub(super) fn deliver(
        &self,
        path: Path,
        port: u16,
        from: SocketAddrV4,
        data: &[u8],
        readable: &mut dyn FnMut(&Arc<U>),
    ) -> Verdict {
        let mut verdict = Verdict::Nobody;
        let mut give = |socket: &Socket<U>| {
            if socket.push(from, data) {
                readable(socket.user());
                verdict = Verdict::Delivered
            } else if verdict == Verdict::Nobody {
                verdict = Verdict::QueueFull
            }
        };
        if path.to_all {
            let all = self.all(path, port, from);
            all.iter().for_each(|socket| give(socket))
        } else if let Some(socket) = self.best(path, port, from) {
            give(&socket)
        }
        verdict
    }

    /// The one that what comes from `from` fits best.
    fn best(&self, path: Path, port: u16, from: SocketAddrV4) -> Option<Arc<Socket<U>>> {
        let table = self.table.lock();
        let sockets = table.ports.get(&port)?.iter();
        let fitting = sockets.filter_map(|socket| Some((socket.fits(path, from)?, socket)));
        let best = fitting.max_by_key(|&(rank, _)| rank);
        best.map(|(_, socket)| socket.clone())
    }

    /// All that it fits.
    fn all(&self, path: Path, port: u16, from: SocketAddrV4) -> Vec<Arc<Socket<U>>> {
        let table = self.table.lock();
        let sockets = table.ports.get(&port).into_iter().flatten();
        let fitting = sockets.filter(|socket| socket.fits(path, from).is_some());
        fitting.cloned().collect()
    }

    /// ICMP says that a datagram of ours found nobody. Only a connected socket is told, and only that nobody is there: whatever
    /// else may be wrong on the way may be right again for the next (RFC 1122, 4.1.3.3). `ready` is called for the one told.
    pub fn unreachable(
        &self,
        reason: Reason,
        quoted: &Quoted,
        ready: &mut dyn FnMut(&Arc<U>),
    ) -> bool {
        let refused = matches!(reason, Reason::Port | Reason::Protocol);
        if quoted.protocol != IpProtocol::Udp || !refused {
            return false;
        }
        let peer = SocketAddrV4::new(quoted.dest, quoted.dest_port);
        let path = Path {
            source: quoted.dest,
            dest: quoted.source,
            to_all: false,
        };
        let told = self.best(path, quoted.source_port, peer);
        let told = told.filter(|socket| socket.refuse(peer));
        if let Some(socket) = &told {
            ready(socket.user())
        }
        told.is_some()
    }
}

impl<U> Table<U> {
    fn is_free(&self, address: Ipv4Addr, port: u16) -> bool {
        let clashes = |socket: &Arc<Socket<U>>| {
            let other = *socket.local().ip();
            other == address || other.is_unspecified() || address.is_unspecified()
        };
        !self.ports.get(&port).is_some_and(|s| s.iter().any(clashes))
    }

    fn free_port(&mut self, address: Ipv4Addr) -> Result<u16, BindError> {
        let n = EPHEMERAL.len() as u32;
        self.drawn += 1;
        let start = self.secret.of(&[self.drawn]) as u32 % n;
        let port_at = |i| EPHEMERAL.start + ((start + i) % n) as u16;
        let mut ports = (0..n).map(port_at);
        let port = ports.find(|&port| self.is_free(address, port));
        port.ok_or(BindError::NoPorts)
    }
}

/// From whom, to which port, what.
fn read(path: Path, payload: &[u8], checked: bool) -> Result<(SocketAddrV4, u16, &[u8]), Verdict> {
    let packet = UdpPacket::new_checked(payload).map_err(|_| Verdict::Malformed)?;
    if packet.dst_port() == 0 {
        return Err(Verdict::Malformed);
    }
    // A sum of 0 is none (RFC 768).
    if !checked && !packet.verify_checksum(&path.source.into(), &path.dest.into()) {
        return Err(Verdict::Checksum);
    }
    let from = SocketAddrV4::new(path.source, packet.src_port());
    Ok((from, packet.dst_port(), packet.payload()))
}

/// The header of a datagram of ours, without the checksum: that needs the addresses, and is done where they are.
///
/// # Panics
/// If `data_bytes` is more than a packet holds; the caller knows.
pub fn header(source_port: u16, dest_port: u16, data_bytes: usize) -> [u8; HEADER_BYTES] {
    let len = u16::try_from(HEADER_BYTES + data_bytes).expect("a datagram longer than a packet");
    let mut bytes = [0; HEADER_BYTES];
    let mut packet = UdpPacket::new_unchecked(&mut bytes[..]);
    packet.set_src_port(source_port);
    packet.set_dst_port(dest_port);
    packet.set_len(len);
    bytes
}
