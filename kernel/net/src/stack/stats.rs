//! A counter for each reason to drop something, and a few for what is rare.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter { $($(#[$doc])* $name,)* }

        impl Counter {
            /// All of them.
            pub const ALL: &[Counter] = &[$(Counter::$name,)*];
        }
    };
}

counters! {
    /// Frames from the card.
    FramesIn,
    /// Frames to the card.
    FramesOut,
    /// Shorter than Ethernet's header.
    FrameShort,
    /// For another card.
    FrameForOther,
    /// Neither ARP nor IPv4.
    FrameType,
    /// ARP that breaks its own rules.
    ArpMalformed,
    /// Somebody has our address as well.
    ArpConflict,
    /// More neighbours than the table holds.
    ArpTableFull,
    /// More packets wait for a neighbour's answer than may.
    ArpQueueFull,
    /// Packets for a neighbour that did not answer.
    ArpNoAnswer,
    /// Shorter than it says, or than a header.
    Ipv4Malformed,
    /// The header's checksum.
    Ipv4Checksum,
    /// Part of a packet.
    Ipv4Fragment,
    /// From an address that nobody can have, or that is ours.
    Ipv4Source,
    /// For somebody else.
    Ipv4NotOurs,
    /// For nobody that we know a way to.
    Ipv4NoRoute,
    /// Shorter than its header, or its checksum is wrong, or what it quotes is no packet.
    IcmpMalformed,
    /// Of no interest, or to all, or about a packet that we have not sent.
    IcmpIgnored,
    /// More echoes or complaints than are answered or made.
    IcmpLimited,
    /// Shorter than it says, or than a header, or to port 0.
    UdpMalformed,
    /// The checksum over a datagram.
    UdpChecksum,
    /// Nobody has that port.
    UdpNobody,
    /// Who has it does not take what he got.
    UdpQueueFull,
    /// To DHCP's client, and not what it has asked for.
    DhcpIgnored,
    /// No protocol of ours.
    NoProtocol,
    /// More packets to ourselves than are kept.
    LoopedFull,
    /// The card was full, and the sender can do without the frame.
    CardFull,
    /// Shorter than TCP's header, or flags and options that make no sense.
    TcpMalformed,
    /// TCP's checksum.
    TcpChecksum,
    /// TCP to or from many.
    TcpNotUnicast,
    /// For no connection and nobody who listens.
    TcpNobody,
    /// RSTs for such.
    TcpResetOut,
    /// Connections that the other side has reset.
    TcpResetIn,
    /// Connections whose other side was silent for too long.
    TcpTimedOut,
    /// Closed connections that were sent something.
    TcpUnreceived,
    /// SYNs while too many wait to be accepted.
    ListenQueueFull,
    /// ACKs of half-open connections while too many wait to be accepted.
    AcceptQueueFull,
    /// SYNs that were answered with a cookie, for too many are half-open.
    CookieOut,
    /// Half-open connections that were reset.
    HalfReset,
    /// Half-open connections that were never confirmed.
    HalfTimedOut,
    /// Segments that overtook the ACK that makes a connection.
    HalfEarly,
    /// Ended connections that are not remembered, for too many are.
    TimeWaitFull,
}

const N: usize = Counter::ALL.len();

/// Counters of a [`Stack`](super::Stack).
pub struct Stats([AtomicU64; N]);

impl Default for Stats {
    fn default() -> Self {
        Self::new()
    }
}

impl Stats {
    /// All zero.
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; N])
    }

    /// One more.
    pub fn count(&self, what: Counter) {
        self.add(what, 1)
    }

    /// `n` more.
    pub fn add(&self, what: Counter, n: u64) {
        // Relaxed: a number, of which nothing else follows.
        self.0[what as usize].fetch_add(n, Relaxed);
    }

    /// How many.
    pub fn get(&self, what: Counter) -> u64 {
        self.0[what as usize].load(Relaxed)
    }
}
