//! ARP (RFC 826): who lives at which address.
//!
//! ```text
//!                 a packet for it            an answer
//!   (nothing) ───────────────────► asked ──────────────────► known ──┐ used after FRESH: asked again,
//!        ▲                           │ ▲ once a second          ▲ │    │ and used on meanwhile
//!        │     TRIES unanswered:     │ └─┘                      └─┘◄───┘
//!        └───────────────────────────┘   what waits is dropped   │
//!        └───────────────────────────────────────────────────────┘ older than STALE
//! ```
//!
//! Nobody gets into the table unasked but who asks for us, and those he would get an answer from anyway; its size and what waits in
//! it have a bound.

use super::common::SECOND_NS;
use super::ether::{EVERYBODY, Mac};
use super::timers::Target;
use super::{Counter, Net};
use alloc::vec::Vec;
use core::mem;
use core::net::Ipv4Addr;
use smoltcp::wire::{ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetProtocol};

/// An answer is believed for so long without asking again.
const FRESH_NS: u64 = 60 * SECOND_NS;
/// And for so long while asking.
const STALE_NS: u64 = 120 * SECOND_NS;
/// Between two questions (RFC 1122, 2.3.2.1: at most one a second).
const AGAIN_NS: u64 = SECOND_NS;
/// Questions before giving up.
const TRIES: u32 = 3;
/// Neighbours in the table.
const MOST: usize = 512;
/// Packets that wait for one neighbour.
const WAITING: usize = 64;
/// Bytes of ARP for IPv4 over Ethernet.
const BYTES: usize = 28;

struct Neighbour {
    ip: Ipv4Addr,
    /// And when it was learned.
    mac: Option<(Mac, u64)>,
    asked_ns: u64,
    /// Questions without an answer.
    tries: u32,
    /// Packets, and the card's queues that they belong to (I-ORDER).
    waiting: Vec<(Vec<u8>, u16)>,
}

/// Our neighbours. A network has few, so they are looked for one by one, the last used first.
pub(crate) struct Table(Vec<Neighbour>);

/// What is known of the next hop.
pub(crate) enum Hop {
    Known(Mac),
    /// It was asked for, or is about to be: the packet waits ([`Net::wait_for`]).
    Asked,
}

impl Table {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    fn find(&mut self, ip: Ipv4Addr) -> Option<&mut Neighbour> {
        let i = self.0.iter().position(|n| n.ip == ip)?;
        if i > 0 {
            self.0.swap(i, i / 2)
        }
        Some(&mut self.0[i / 2])
    }

    /// The neighbour, new if need be. None: the table is full of those that packets wait for.
    fn entry(&mut self, ip: Ipv4Addr) -> Option<&mut Neighbour> {
        if self.find(ip).is_none() {
            if self.0.len() >= MOST {
                let age = |n: &Neighbour| n.mac.map_or(0, |(_, since)| since);
                let free = |n: &&Neighbour| n.waiting.is_empty();
                let ip = self.0.iter().filter(free).min_by_key(|n| age(n))?.ip;
                self.0.retain(|n| n.ip != ip)
            }
            self.0.push(Neighbour {
                ip,
                mac: None,
                asked_ns: 0,
                tries: 0,
                waiting: Vec::new(),
            })
        }
        self.find(ip)
    }
}

impl<U> Net<'_, U> {
    /// Where `hop` lives; asks if that is not known, or was long ago.
    pub(super) fn neighbour(&mut self, hop: Ipv4Addr) -> Hop {
        let now = self.now_ns;
        let (known, ask) = {
            let mut table = self.stack.arp.lock();
            let Some(n) = table.find(hop) else {
                return Hop::Asked;
            };
            let age = |since| now.saturating_sub(since);
            n.mac = n.mac.filter(|&(_, since)| age(since) < STALE_NS);
            let old = n.mac.is_some_and(|(_, since)| age(since) >= FRESH_NS);
            let ask = old && age(n.asked_ns) >= AGAIN_NS;
            if ask {
                n.asked_ns = now
            }
            (n.mac, ask)
        };
        if ask {
            self.ask(hop)
        }
        match known {
            Some((mac, _)) => Hop::Known(mac),
            None => Hop::Asked,
        }
    }

    /// A packet for a neighbour that is not known waits for his answer.
    pub(super) fn wait_for(&mut self, hop: Ipv4Addr, packet: Vec<u8>) {
        let stats = &self.stack.stats;
        let ask = {
            let mut table = self.stack.arp.lock();
            let Some(n) = table.entry(hop) else {
                return stats.count(Counter::ArpTableFull);
            };
            if n.waiting.len() >= WAITING {
                return stats.count(Counter::ArpQueueFull);
            }
            n.waiting.push((packet, self.queue));
            let first = n.tries == 0;
            if first {
                n.tries = 1;
                n.asked_ns = self.now_ns
            }
            first
        };
        if ask {
            self.ask(hop);
            self.stack
                .timers
                .remind(self.now_ns + AGAIN_NS, Target::Neighbour(hop))
        }
    }

    /// A second has passed since `hop` was asked.
    pub(super) fn ask_again(&mut self, hop: Ipv4Addr) {
        let lost = {
            let mut table = self.stack.arp.lock();
            let Some(n) = table.find(hop).filter(|n| !n.waiting.is_empty()) else {
                return;
            };
            n.tries += 1;
            n.asked_ns = self.now_ns;
            let gives_up = n.tries > TRIES;
            if gives_up {
                n.tries = 0;
                mem::take(&mut n.waiting)
            } else {
                Vec::new()
            }
        };
        if lost.is_empty() {
            self.ask(hop);
            let again_ns = self.now_ns + AGAIN_NS;
            return self.stack.timers.remind(again_ns, Target::Neighbour(hop));
        }
        self.stack
            .stats
            .add(Counter::ArpNoAnswer, lost.len() as u64);
        for (packet, _) in lost {
            self.tcp_undeliverable(&packet)
        }
    }

    pub(super) fn arp_came(&mut self, bytes: &[u8]) {
        let stats = &self.stack.stats;
        let repr = ArpPacket::new_checked(bytes).and_then(|p| ArpRepr::parse(&p));
        let Ok(ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: mac,
            source_protocol_addr: ip,
            target_protocol_addr: wanted,
            ..
        }) = repr
        else {
            return stats.count(Counter::ArpMalformed);
        };
        let bad_ip = ip.is_multicast() || ip.is_broadcast() || ip.is_loopback();
        if !mac.is_unicast() || bad_ip {
            return stats.count(Counter::ArpMalformed);
        }
        let Some(ours) = self.stack.address() else {
            return;
        };
        if ip == ours.ip {
            return stats.count(Counter::ArpConflict);
        }
        let for_us = wanted == ours.ip;
        if !ip.is_unspecified() && ours.on_link(ip) {
            self.lives_at(ip, mac.0, for_us)
        }
        if for_us && operation == ArpOperation::Request {
            self.send_arp(ArpOperation::Reply, mac.0, mac.0, ip)
        }
    }

    /// `ip` has said where it lives. `new`: worth an entry. What waits goes in its order; but from when the table's lock is free another
    /// CPU knows the address as well, and what it sends then may overtake it, as on the way.
    fn lives_at(&mut self, ip: Ipv4Addr, mac: Mac, new: bool) {
        let waiting = {
            let mut table = self.stack.arp.lock();
            let n = if new { table.entry(ip) } else { table.find(ip) };
            let Some(n) = n else {
                return;
            };
            n.mac = Some((mac, self.now_ns));
            n.tries = 0;
            mem::take(&mut n.waiting)
        };
        let near = self.queue;
        for (packet, queue) in waiting {
            self.queue = queue;
            let mut fill = |to: &mut [u8]| to.copy_from_slice(&packet);
            if !self.send_frame(mac, EthernetProtocol::Ipv4, packet.len(), None, &mut fill) {
                self.stack.stats.count(Counter::CardFull)
            }
        }
        self.queue = near
    }

    /// Who has had this address before, and has another card, is forgotten by those who knew him (RFC 5227, 2.3). The
    /// fallback is announced too: it is answered for as well.
    pub(super) fn announce(&mut self) {
        if let Some(ours) = self.stack.address() {
            self.ask(ours.ip)
        }
    }

    fn ask(&mut self, hop: Ipv4Addr) {
        self.send_arp(ArpOperation::Request, EVERYBODY, [0; 6], hop)
    }

    fn send_arp(&mut self, operation: ArpOperation, to: Mac, target: Mac, ip: Ipv4Addr) {
        let Some(ours) = self.stack.address() else {
            return;
        };
        let repr = ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: EthernetAddress(self.stack.config.mac),
            source_protocol_addr: ours.ip,
            target_hardware_addr: EthernetAddress(target),
            target_protocol_addr: ip,
        };
        let mut fill = |to: &mut [u8]| repr.emit(&mut ArpPacket::new_unchecked(to));
        if !self.send_frame(to, EthernetProtocol::Arp, BYTES, None, &mut fill) {
            self.stack.stats.count(Counter::CardFull)
        }
    }
}
