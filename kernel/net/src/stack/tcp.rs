//! TCP (RFC 9293). A connection is smoltcp's; who gets which segment, who listens, what is left of a connection that has ended are ours.
//!
//! ```text
//!            segment                 by 4-tuple: Demux
//!   ipv4 ──────────────► segment.rs ─────────┬───────────────► conn.rs: one interface, one socket, one lock
//!                                            ├───────────────► listen.rs: half-open, cookies, who waits to be accepted
//!                                            ├───────────────► timewait.rs: what has ended and may be asked for
//!                                            └─ nobody's ────► reset.rs: RST
//! ```

mod api;
mod conn;
mod connect;
mod cookie;
mod demux;
mod ending;
mod listen;
mod number;
mod patience;
mod pump;
mod rename;
mod reset;
mod room;
mod segment;
mod starving;
mod timewait;
mod undeliverable;
mod wire;

pub use api::{Conn, Listener};
pub use conn::Kept;
pub(crate) use demux::Tuple;
pub use ending::Ending;
pub use room::Places;

use super::common::SECOND_NS;
use super::secret::Secret;
use alloc::{sync::Arc, vec::Vec};
use base::{Rank, SpinLock};
use core::fmt;
use core::sync::atomic::AtomicBool;
use room::Rooms;

/// How TCP behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes that are kept for who does not receive them yet: the window. Above 65,535 it is scaled (RFC 7323).
    pub recv_bytes: usize,
    /// Bytes that are kept until the other side has acknowledged them.
    pub send_bytes: usize,
    /// How long an acknowledgement waits for data that it can ride on; 0: not at all. RFC 9293 allows half a second.
    pub ack_delay_ns: u64,
    /// Connections of a listener that were asked for and not yet confirmed; more get by with cookies (RFC 4987).
    pub half_open: usize,
    /// Connections that have buffers, at most.
    pub connections: usize,
    /// Whether the machine has so many bytes to spare for one: else it is as with all places taken.
    pub has_memory: fn(usize) -> bool,
    /// How long what has ended is remembered (RFC 9293: twice the life of a segment).
    pub time_wait_ns: u64,
    /// How many are remembered.
    pub time_waits: usize,
    /// After so long without an answer to its SYN a connection fails.
    pub connect_ns: u64,
    /// After so long without an answer to anything else.
    pub silence_ns: u64,
    /// After so long a connection that was closed is forgotten, if the other side does not do its part.
    pub linger_ns: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            recv_bytes: 16 << 10,
            send_bytes: 16 << 10,
            ack_delay_ns: SECOND_NS / 100,
            half_open: 256,
            connections: 64 << 10,
            has_memory: |_| true,
            time_wait_ns: 60 * SECOND_NS,
            time_waits: 16 << 10,
            connect_ns: 120 * SECOND_NS,
            silence_ns: 900 * SECOND_NS,
            linger_ns: 60 * SECOND_NS,
        }
    }
}

impl Config {
    /// What a connection takes, about: its buffers, and 8 KiB for what keeps it and for the goroutine that serves it.
    pub fn connection_bytes(&self) -> usize {
        self.recv_bytes + self.send_bytes + (8 << 10)
    }
}

/// Why a call did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpError {
    /// Not now: `Out::ready` says when.
    WouldBlock,
    /// Nobody listens there.
    Refused,
    /// The other side has thrown the connection away.
    Reset,
    /// The other side does not answer.
    TimedOut,
    /// Our half was shut.
    BrokenPipe,
    /// It is none, or none any more.
    NotConnected,
    /// There are as many connections as there may be, or no memory for another.
    NoRoom,
    /// Somebody listens there, or no port is free.
    AddrInUse,
    /// It is none of our addresses, or none any more.
    AddrNotAvailable,
    /// Nobody answers there, says who is next to it, or the network on the way.
    HostUnreachable,
    /// No way leads there.
    Unreachable,
    /// Such an address cannot be.
    Invalid,
}

impl fmt::Display for TcpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WouldBlock => "not ready",
            Self::Refused => "connection refused",
            Self::Reset => "connection reset by peer",
            Self::TimedOut => "connection timed out",
            Self::BrokenPipe => "broken pipe",
            Self::NotConnected => "not connected",
            Self::NoRoom => "no room for another connection",
            Self::AddrInUse => "address in use",
            Self::AddrNotAvailable => "address not available",
            Self::HostUnreachable => "host unreachable",
            Self::Unreachable => "network unreachable",
            Self::Invalid => "invalid address",
        })
    }
}

impl core::error::Error for TcpError {}

/// TCP's part of a stack.
pub(crate) struct Tcp<U> {
    demux: SpinLock<demux::Demux<U>>,
    rooms: Arc<Rooms>,
    /// Connections that the full card has stopped.
    starving: starving::Starving<U>,
    /// I-NAMED: names that are nobody's any more.
    stranded: SpinLock<Vec<Tuple>>,
    /// The program has ended: nothing that it writes is sent. Relaxed: it is looked at under a connection's lock, and set before that
    /// of each connection is taken to close it.
    ended: AtomicBool,
    /// For first sequence numbers.
    numbers: Secret,
    /// For cookies.
    cookies: Secret,
}

impl<U> Tcp<U> {
    pub fn new(seed: u64, connections: usize) -> Self {
        Self {
            rooms: Rooms::new(connections),
            demux: SpinLock::new(Rank::NetTable, demux::Demux::new(seed)),
            starving: starving::Starving::new(),
            stranded: SpinLock::new(Rank::NetTable, Vec::new()),
            ended: AtomicBool::new(false),
            numbers: Secret::new(seed, 1),
            cookies: Secret::new(seed, 2),
        }
    }

    /// Ended connections that are remembered.
    pub fn waiting(&self) -> usize {
        self.demux.lock().waiting
    }

    /// Connections, whatever their state.
    pub fn slots(&self) -> usize {
        self.demux.lock().slots.len()
    }

    /// With which number we have answered a SYN from `port`.
    #[cfg(test)]
    pub fn half_number(&self, port: u16) -> Option<u32> {
        let demux = self.demux.lock();
        demux.slots.iter().find_map(|(tuple, slot)| match slot {
            demux::Slot::Half(half) if tuple.remote.port() == port => Some(half.opening.ours),
            _ => None,
        })
    }

    /// What was last received of an ended connection from `port`.
    #[cfg(test)]
    pub fn remembered(&self, port: u16) -> Option<u32> {
        let demux = self.demux.lock();
        demux.slots.iter().find_map(|(tuple, slot)| match slot {
            demux::Slot::Waiting(w) if tuple.remote.port() == port => Some(w.acked),
            _ => None,
        })
    }
}
