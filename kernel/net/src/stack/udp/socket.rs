//! A UDP socket: what came for it, and whom it talks to.

use super::Path;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use base::{Rank, SpinLock};
use core::net::{Ipv4Addr, SocketAddrV4};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Of the locks here: the heap is used under them.
pub(super) const RANK: Rank = Rank::NetTable;

/// What a queue holds, in bytes, what a datagram costs besides its data included (Linux: `net.core.rmem_default`).
pub const QUEUE_BYTES: usize = 212_992;
/// What a datagram costs besides its data: so that empty ones are bounded as well.
const COST_BYTES: usize = 256;

/// A bound port.
pub struct Socket<U> {
    local: SocketAddrV4,
    peer: Peer,
    state: SpinLock<State>,
    user: Arc<U>,
}

struct State {
    queue: VecDeque<Datagram>,
    /// What `queue` costs.
    bytes: usize,
    /// A datagram to the peer found nobody, and the caller does not know yet.
    refused: bool,
    /// It may send to everybody.
    broadcast: bool,
    open: bool,
    /// Datagrams for which the queue had no room.
    dropped: u64,
    /// A sender waits for the card.
    waits: bool,
}

/// The one whom a socket talks to, if it talks to one alone. Not under the lock: who looks for a socket looks at those of others.
///
/// Relaxed throughout: nothing else is published with it.
struct Peer(AtomicU64);

/// There is a peer: the bit above address and port.
const SET: u64 = 1 << 48;

impl Peer {
    fn get(&self) -> Option<SocketAddrV4> {
        let bits = self.0.load(Relaxed);
        let address = Ipv4Addr::from_bits((bits >> 16) as u32);
        (bits & SET != 0).then_some(SocketAddrV4::new(address, bits as u16))
    }

    fn set(&self, peer: Option<SocketAddrV4>) {
        let bits = |peer: SocketAddrV4| {
            SET | u64::from(peer.ip().to_bits()) << 16 | u64::from(peer.port())
        };
        self.0.store(peer.map_or(0, bits), Relaxed)
    }
}

struct Datagram {
    from: SocketAddrV4,
    data: Box<[u8]>,
}

/// What a call of `recv` got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Who sent it.
    pub from: SocketAddrV4,
    /// Bytes of it that are in the buffer.
    pub len: usize,
    /// Bytes that it had: what did not fit into the buffer is gone.
    pub whole: usize,
}

/// What a call comes to otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpError {
    /// Nothing is there; or, to a sender: there is no room. Wait for readiness.
    WouldBlock,
    /// Nobody listens where the socket is connected to: a datagram sent earlier has found that out (`ConnectionRefused`).
    Refused,
    /// It is closed.
    Closed,
    /// Nobody to send to: it is not connected (`NotConnected`).
    NotConnected,
    /// It may not send to everybody (`PermissionDenied`).
    NoBroadcast,
    /// It does not fit into a packet.
    TooLong,
    /// There is no way there (`NetworkUnreachable`), or none may be (port 0).
    Unreachable,
    /// The address is not ours (`AddrNotAvailable`).
    NotOurs,
    /// The port is taken, or all that are for everybody (`AddrInUse`).
    InUse,
}

impl<U> Socket<U> {
    pub(super) fn new(local: SocketAddrV4, user: Arc<U>) -> Socket<U> {
        let state = State {
            queue: VecDeque::new(),
            bytes: 0,
            refused: false,
            broadcast: false,
            open: true,
            dropped: 0,
            waits: false,
        };
        Socket {
            local,
            peer: Peer(AtomicU64::new(0)),
            state: SpinLock::new(RANK, state),
            user,
        }
    }

    /// Where it is bound.
    pub fn local(&self) -> SocketAddrV4 {
        self.local
    }

    /// Who is told of readiness.
    pub fn user(&self) -> &Arc<U> {
        &self.user
    }

    /// Whom it talks to.
    pub fn peer(&self) -> Option<SocketAddrV4> {
        self.peer.get()
    }

    /// Talks to `peer` alone from now on (None: to everybody again). What came before is still received.
    pub fn connect(&self, peer: Option<SocketAddrV4>) {
        let mut state = self.state.lock();
        self.peer.set(peer);
        state.refused = false
    }

    /// May it send to everybody? At first not.
    pub fn set_broadcast(&self, on: bool) {
        self.state.lock().broadcast = on
    }

    /// May it?
    pub fn broadcast(&self) -> bool {
        self.state.lock().broadcast
    }

    /// Datagrams for which there was no room.
    pub fn dropped(&self) -> u64 {
        self.state.lock().dropped
    }

    /// The next datagram, as much of it as fits into `buffer`. An empty one is one.
    ///
    /// # Errors
    /// `WouldBlock`, `Refused`, `Closed`.
    pub fn recv(&self, buffer: &mut [u8]) -> Result<Received, UdpError> {
        let mut state = self.state.lock();
        state.check()?;
        let datagram = state.queue.pop_front().ok_or(UdpError::WouldBlock)?;
        state.bytes -= COST_BYTES + datagram.data.len();
        drop(state);
        Ok(datagram.copy(buffer))
    }

    /// As [`Socket::recv`]; the datagram stays.
    ///
    /// # Errors
    /// As there.
    pub fn peek(&self, buffer: &mut [u8]) -> Result<Received, UdpError> {
        let mut state = self.state.lock();
        state.check()?;
        let datagram = state.queue.front().ok_or(UdpError::WouldBlock)?;
        Ok(datagram.copy(buffer))
    }

    /// Is there something that `recv` would not wait for?
    pub fn is_readable(&self) -> bool {
        let state = self.state.lock();
        state.refused || !state.open || !state.queue.is_empty()
    }

    /// The error that a sender or receiver has not yet been told (`SO_ERROR`).
    pub fn take_error(&self) -> Option<UdpError> {
        self.state.lock().check().err()
    }

    /// May a datagram go to `dest` (None: to the peer)? To whom it goes.
    ///
    /// # Errors
    /// All but `WouldBlock`, `TooLong`.
    pub fn dest(&self, dest: Option<SocketAddrV4>, to_all: bool) -> Result<SocketAddrV4, UdpError> {
        let mut state = self.state.lock();
        state.check()?;
        let dest = dest.or(self.peer()).ok_or(UdpError::NotConnected)?;
        if to_all && !state.broadcast {
            return Err(UdpError::NoBroadcast);
        }
        if dest.port() == 0 {
            return Err(UdpError::Unreachable);
        }
        Ok(dest)
    }

    /// How well it fits (more is better), if at all.
    pub(super) fn fits(&self, path: Path, from: SocketAddrV4) -> Option<u32> {
        let address = *self.local.ip();
        let named = address == path.dest;
        let peer = self.peer();
        let fits = (named || address.is_unspecified()) && peer.is_none_or(|peer| peer == from);
        fits.then_some(u32::from(named) + 2 * u32::from(peer.is_some()))
    }

    /// False: there is no room.
    pub(super) fn push(&self, from: SocketAddrV4, data: &[u8]) -> bool {
        let cost = COST_BYTES + data.len();
        // Most of those that have no room are found here, before anything is copied.
        let has_room = |state: &State| state.open && state.bytes + cost <= QUEUE_BYTES;
        let mut state = self.state.lock();
        if has_room(&state) {
            drop(state);
            let data = Box::from(data);
            state = self.state.lock();
            if has_room(&state) {
                state.bytes += cost;
                state.queue.push_back(Datagram { from, data });
                return true;
            }
        }
        state.dropped += 1;
        false
    }

    /// A datagram to `peer` found nobody. False: that does not concern this socket.
    pub(super) fn refuse(&self, peer: SocketAddrV4) -> bool {
        let mut state = self.state.lock();
        let concerned = state.open && self.peer() == Some(peer);
        state.refused |= concerned;
        concerned
    }

    /// A sender waits for the card, or does so no more. What was the case before.
    pub(super) fn set_waits(&self, waits: bool) -> bool {
        core::mem::replace(&mut self.state.lock().waits, waits)
    }

    pub(super) fn shut(&self) {
        let mut state = self.state.lock();
        state.open = false;
        state.bytes = 0;
        let queue = core::mem::take(&mut state.queue);
        drop(state);
        drop(queue)
    }
}

impl State {
    fn check(&mut self) -> Result<(), UdpError> {
        if !self.open {
            Err(UdpError::Closed)
        } else if core::mem::take(&mut self.refused) {
            Err(UdpError::Refused)
        } else {
            Ok(())
        }
    }
}

impl Datagram {
    fn copy(&self, buffer: &mut [u8]) -> Received {
        let len = self.data.len().min(buffer.len());
        buffer[..len].copy_from_slice(&self.data[..len]);
        Received {
            from: self.from,
            len,
            whole: self.data.len(),
        }
    }
}
