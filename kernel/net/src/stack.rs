//! TCP/IP without goroutines: frames in, frames out, readiness out.
//!
//! ```text
//!                   sockets (above)            Out::ready: who may go on
//!                      │  ▲                             ▲
//!   ┌──────────────────┴──┴─────────────────────────────┴──────────┐
//!   │  tcp: demux, one interface a connection    udp  icmp  dhcp   │  timers: what falls due
//!   │  ipv4: checks, routes ──── looped: to ourselves              │  stats: why something was dropped
//!   │  arp: who lives at which address                             │
//!   │  ether: frames                                               │
//!   └──────────────────┬──▲─────────────────────────────┬──────────┘
//!                    input│room, tick              Out::frame
//!                      │  │                             ▼
//!                   the card (below)            the card's ring
//! ```
//!
//! Nothing here waits and nothing knows the time: each call is told it (`now_ns`), and says into an [`Out`] what it brings about. So
//! the whole runs on the host, two stacks on a wire made by hand.
//!
//! **I-ONE** A lock for each connection, one for each table, never two connections' or two tables' at once, and none of them is held
//! while [`Out::ready`] is called.
//!
//! IPv6 is not there; fragments are dropped.

mod arp;
mod common;
mod config;
pub mod dhcp;
pub mod dns;
mod ether;
#[cfg(test)]
mod fuzz;
pub mod icmp;
mod ipv4;
mod limit;
mod looped;
mod out;
mod secret;
mod stats;
pub mod tcp;
#[cfg(test)]
mod tests;
mod timers;
pub mod udp;

pub use config::{Address, Config};
pub use out::{Out, Ready};
pub use stats::{Counter, Stats};
pub use timers::NEVER;

use alloc::{sync::Arc, vec::Vec};
use base::{Rank, SpinLock};
use core::net::Ipv4Addr;
use smoltcp::wire::IpProtocol;

/// Deadlines that one tick serves at most.
const DUE_AT_ONCE: usize = 256;

/// A computer's TCP/IP. `U` is what the layer above keeps for a socket: its wait list.
pub struct Stack<U> {
    config: Config,
    /// Ours, while there is one.
    address: SpinLock<Option<Address>>,
    arp: SpinLock<arp::Table>,
    looped: looped::Queue,
    timers: timers::Timers,
    tcp: tcp::Tcp<U>,
    udp: udp::Udp<U>,
    /// Senders of datagrams that found the card full.
    udp_waits: SpinLock<Vec<Arc<udp::Socket<U>>>>,
    /// Who waits for echoes.
    pings: udp::Udp<U>,
    icmp_limits: SpinLock<icmp::Limits>,
    dhcp: SpinLock<Option<dhcp::Service<U>>>,
    /// Who is called how.
    pub dns: dns::Resolver,
    /// Why what was dropped.
    pub stats: Stats,
}

/// What a call works with: the stack, the time, where its effects go.
pub(crate) struct Net<'a, U> {
    pub stack: &'a Stack<U>,
    pub now_ns: u64,
    pub out: &'a mut dyn Out<U>,
    /// The card's queue that what is sent goes by: the caller's CPU's, but for what a connection sends (I-ORDER).
    pub queue: u16,
}

impl<U> Stack<U> {
    /// A stack for one card. Its address comes later ([`Stack::set_address`]); 127.0.0.0/8 is there from the start.
    pub fn new(config: Config) -> Self {
        Self {
            address: SpinLock::new(Rank::NetTable, None),
            arp: SpinLock::new(Rank::NetTable, arp::Table::new()),
            looped: looped::Queue::new(),
            timers: timers::Timers::new(),
            udp: udp::Udp::new(config.seed),
            udp_waits: SpinLock::new(Rank::NetTable, Vec::new()),
            pings: udp::Udp::new(!config.seed),
            icmp_limits: SpinLock::new(Rank::NetTable, icmp::Limits::new()),
            dhcp: SpinLock::new(Rank::NetTable, None),
            dns: dns::Resolver::new(config.seed),
            stats: Stats::new(),
            tcp: tcp::Tcp::new(config.seed, config.tcp.connections),
            config,
        }
    }

    /// A frame from the card, from Ethernet's header on. `checked`: the card vouches for TCP's and UDP's checksum.
    pub fn input(&self, frame: &[u8], checked: bool, now_ns: u64, out: &mut dyn Out<U>) {
        self.net(now_ns, out).frame_came(frame, checked)
    }

    /// Does what has fallen due: retransmissions, time-wait, ARP, what was sent to ourselves. A bounded amount of it:
    /// [`Stack::has_more`].
    pub fn tick(&self, now_ns: u64, out: &mut dyn Out<U>) {
        let mut net = self.net(now_ns, out);
        for _ in 0..DUE_AT_ONCE {
            let Some(target) = self.timers.due(now_ns) else {
                break;
            };
            net.fell_due(target)
        }
        net.run_looped()
    }

    /// Does something wait that was sent to ourselves?
    pub fn has_looped(&self) -> bool {
        self.looped.len() != 0
    }

    /// Is there something for [`Stack::tick`] to do at once? Whoever was in the stack and is about to leave it asks.
    pub fn has_more(&self, now_ns: u64) -> bool {
        self.has_looped() || self.next_deadline_ns() <= now_ns
    }

    /// When [`Stack::tick`] has something to do, on the clock of `now_ns`; [`NEVER`]: not before something comes.
    pub fn next_deadline_ns(&self) -> u64 {
        self.timers.next_ns()
    }

    /// The card has room again.
    pub fn room(&self, now_ns: u64, out: &mut dyn Out<U>) {
        let mut net = self.net(now_ns, out);
        net.feed_starving();
        net.udp_room();
        net.run_looped()
    }

    /// TCP connections, those that are half-open or remembered included.
    pub fn connections(&self) -> usize {
        self.tcp.slots()
    }

    /// Of the connections those that have buffers, and how many may.
    pub fn places(&self) -> tcp::Places {
        self.tcp.places()
    }

    /// Ended connections that are remembered (time-wait).
    pub fn remembered_connections(&self) -> usize {
        self.tcp.waiting()
    }

    /// From the start on this computer is called so. Who has connections already asks by DHCP, which ends those of the old address.
    pub fn set_address(&self, address: Option<Address>) {
        *self.address.lock() = address
    }

    /// What this computer is called.
    pub fn address(&self) -> Option<Address> {
        *self.address.lock()
    }

    /// Is this computer called so?
    fn is_ours(&self, ip: Ipv4Addr) -> bool {
        ip.is_loopback() || self.address().is_some_and(|a| a.ip == ip)
    }

    fn net<'a>(&'a self, now_ns: u64, out: &'a mut dyn Out<U>) -> Net<'a, U> {
        Net {
            stack: self,
            now_ns,
            queue: out.near(),
            out,
        }
    }
}

impl<U> Net<'_, U> {
    fn fell_due(&mut self, target: timers::Target) {
        match target {
            timers::Target::Neighbour(hop) => self.ask_again(hop),
            timers::Target::Dhcp => self.dhcp_due(),
            timers::Target::Half(tuple) => self.half_fell_due(tuple),
            timers::Target::TimeWait(tuple) => self.wait_fell_due(tuple),
            timers::Target::Conn(tuple) => self.conn_fell_due(&tuple),
            timers::Target::Stranded => self.strand_next(),
        }
    }

    /// A packet that is for us.
    fn packet_came(&mut self, came: &ipv4::Came<'_>) {
        match came.protocol {
            IpProtocol::Tcp => self.tcp_came(came),
            IpProtocol::Udp if self.dhcp_came(came) => (),
            IpProtocol::Udp => self.udp_came(came),
            IpProtocol::Icmp => self.icmp_came(came),
            _ => self.stack.stats.count(Counter::NoProtocol),
        }
    }
}
