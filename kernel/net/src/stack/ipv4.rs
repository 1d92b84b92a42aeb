//! IPv4: what comes is checked, what goes finds its way.

use super::arp::Hop;
use super::ether::{EVERYBODY, Mac};
use super::{Counter, Net, Stack};
use crate::device::Checksum;
use alloc::vec;
use core::net::Ipv4Addr;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetProtocol, IPV4_HEADER_LEN, IpProtocol, Ipv4Packet, Ipv4Repr, checksum,
};

/// A packet that came, and is for us.
pub(crate) struct Came<'a> {
    pub source: Ipv4Addr,
    pub dest: Ipv4Addr,
    pub protocol: IpProtocol,
    /// All of it.
    pub packet: &'a [u8],
    /// Behind the header.
    pub payload: &'a [u8],
    /// Nobody need look at TCP's or UDP's checksum.
    pub checked: bool,
    /// It was sent to all.
    pub broadcast: bool,
}

/// A packet that is to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub source: Ipv4Addr,
    pub dest: Ipv4Addr,
    pub protocol: IpProtocol,
    pub ttl: u8,
    /// Bytes behind IP's header.
    pub payload_bytes: usize,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It is on its way, or waits for a neighbour's address.
    Gone,
    /// The card is full; nothing was written, nothing counted.
    Full,
    /// It is counted as dropped; nothing was written.
    Dropped,
}

/// How a packet leaves.
enum Via {
    Looped,
    Frame(Mac),
    Neighbour(Ipv4Addr),
    Nowhere,
}

impl<U> Net<'_, U> {
    /// A packet from a frame, or from ourselves (`looped`).
    pub(super) fn ipv4_came(&mut self, bytes: &[u8], checked: bool, looped: bool) {
        let stats = &self.stack.stats;
        let packet = match Ipv4Packet::new_checked(bytes) {
            Ok(p) if p.version() == 4 && usize::from(p.header_len()) >= IPV4_HEADER_LEN => p,
            _ => return stats.count(Counter::Ipv4Malformed),
        };
        if !looped && !packet.verify_checksum() {
            return stats.count(Counter::Ipv4Checksum);
        }
        if packet.more_frags() || packet.frag_offset() != 0 {
            return stats.count(Counter::Ipv4Fragment);
        }
        let (source, dest) = (packet.src_addr(), packet.dst_addr());
        let ours = self.stack.address();
        let broadcast = dest.is_broadcast() || ours.is_some_and(|a| a.is_broadcast(dest));
        if !looped {
            let lies = source.is_multicast()
                || source.is_loopback()
                || source.is_broadcast()
                || ours.is_some_and(|a| a.ip == source || a.is_broadcast(source));
            if lies {
                return stats.count(Counter::Ipv4Source);
            }
            // Without an address everything is for us: what DHCP offers is sent to an address that is not ours yet.
            let for_us = broadcast || ours.is_none_or(|a| a.ip == dest) && !dest.is_loopback();
            if !for_us {
                return stats.count(Counter::Ipv4NotOurs);
            }
        }
        let end = usize::from(packet.total_len());
        let came = Came {
            source,
            dest,
            protocol: packet.next_header(),
            packet: &bytes[..end],
            payload: &bytes[usize::from(packet.header_len())..end],
            checked,
            broadcast,
        };
        self.packet_came(&came)
    }

    /// A packet whose payload `fill` writes, without TCP's or UDP's checksum, which is done here. One that finds the card full is
    /// dropped and counted.
    pub(super) fn send_packet(&mut self, head: &Head, fill: &mut dyn FnMut(&mut [u8])) -> Sent {
        let repr = Ipv4Repr {
            src_addr: head.source,
            dst_addr: head.dest,
            next_header: head.protocol,
            payload_len: head.payload_bytes,
            hop_limit: head.ttl,
        };
        let bytes = IPV4_HEADER_LEN + head.payload_bytes;
        let mut whole = |to: &mut [u8]| {
            let caps = ChecksumCapabilities::default();
            repr.emit(&mut Ipv4Packet::new_unchecked(&mut to[..]), &caps);
            fill(&mut to[IPV4_HEADER_LEN..])
        };
        let sent = self.send_ipv4(head.dest, head.protocol, bytes, &mut whole);
        if sent == Sent::Full {
            self.stack.stats.count(Counter::CardFull);
            return Sent::Dropped;
        }
        sent
    }

    /// A whole packet of `bytes`, which `fill` writes; TCP's or UDP's checksum is done here. `fill` is called if it was sent,
    /// else not.
    pub(super) fn send_ipv4(
        &mut self,
        dest: Ipv4Addr,
        protocol: IpProtocol,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Sent {
        // Where the checksum lies behind IP's header, which has no options.
        let offset = match protocol {
            IpProtocol::Tcp => Some(16),
            IpProtocol::Udp => Some(6),
            _ => None,
        };
        let via = self.via(dest);
        if bytes > self.stack.config.mtu && matches!(via, Via::Frame(_) | Via::Neighbour(_)) {
            // It was to stay here, and our address has changed since.
            self.stack.stats.count(Counter::Ipv4NoRoute);
            return Sent::Dropped;
        }
        match via {
            Via::Looped if self.loop_back(bytes, fill) => Sent::Gone,
            Via::Looped => Sent::Dropped,
            Via::Frame(mac) => {
                let offload = self.stack.config.offload;
                let asked = offset.filter(|_| offload).map(|offset| Checksum {
                    start: IPV4_HEADER_LEN as u16,
                    offset,
                });
                let gone = self.send_frame(mac, EthernetProtocol::Ipv4, bytes, asked, &mut |to| {
                    fill(to);
                    if let Some(offset) = offset {
                        finish(to, protocol, offset, offload)
                    }
                });
                if gone { Sent::Gone } else { Sent::Full }
            }
            Via::Neighbour(hop) => {
                let mut packet = vec![0; bytes];
                fill(&mut packet);
                if let Some(offset) = offset {
                    finish(&mut packet, protocol, offset, false)
                }
                self.wait_for(hop, packet);
                Sent::Gone
            }
            Via::Nowhere => {
                self.stack.stats.count(Counter::Ipv4NoRoute);
                Sent::Dropped
            }
        }
    }

    fn via(&mut self, dest: Ipv4Addr) -> Via {
        let ours = self.stack.address();
        if dest.is_loopback() || ours.is_some_and(|a| a.ip == dest) {
            return Via::Looped;
        }
        if dest.is_broadcast() || ours.is_some_and(|a| a.is_broadcast(dest)) {
            return Via::Frame(EVERYBODY);
        }
        let Some(ours) = ours else {
            return Via::Nowhere;
        };
        let hop = match ours.gateway {
            _ if ours.on_link(dest) => dest,
            Some(gateway) => gateway,
            None => return Via::Nowhere,
        };
        match self.neighbour(hop) {
            Hop::Known(mac) => Via::Frame(mac),
            Hop::Asked => Via::Neighbour(hop),
        }
    }
}

impl<U> Stack<U> {
    /// Which of our addresses a packet to `dest` bears. None: no way leads there.
    pub(super) fn source_for(&self, dest: Ipv4Addr) -> Option<Ipv4Addr> {
        if dest.is_loopback() {
            return Some(Ipv4Addr::LOCALHOST);
        }
        let ours = self.address()?;
        (ours.on_link(dest) || ours.gateway.is_some()).then_some(ours.ip)
    }
}

/// Puts the checksum of what stands behind IP's header into it; `begun`: of the pseudo-header only, for the card to go on.
fn finish(packet: &mut [u8], protocol: IpProtocol, offset: u16, begun: bool) {
    let (source, dest) = {
        let p = Ipv4Packet::new_unchecked(&*packet);
        (p.src_addr(), p.dst_addr())
    };
    let payload = &mut packet[IPV4_HEADER_LEN..];
    let at = usize::from(offset)..usize::from(offset) + 2;
    payload[at.clone()].fill(0);
    let pseudo = checksum::pseudo_header_v4(&source, &dest, protocol, payload.len() as u32);
    let sum = if begun {
        pseudo
    } else {
        match !checksum::combine(&[pseudo, checksum::data(payload)]) {
            // UDP: zero says that there is none (RFC 768).
            0 if protocol == IpProtocol::Udp => 0xffff,
            sum => sum,
        }
    };
    payload[at].copy_from_slice(&sum.to_be_bytes())
}
