//! A segment of ours that does not arrive: its neighbour does not answer ARP, or somebody on the way says so by ICMP; or our own address
//! is ours no longer.
//!
//! Who is only asking for a connection is told at once (Linux: `tcp_v4_err`, `EHOSTUNREACH`); one that stands has time until it is
//! given up, and the reason is this one then, if nothing else was heard (RFC 1122, 4.2.3.9).

use super::TcpError;
use super::conn::{Inner, Shared};
use super::demux::{Slot, Tuple};
use crate::stack::icmp::{Quoted, Reason};
use crate::stack::{Address, Net};
use alloc::{sync::Arc, vec::Vec};
use core::net::{Ipv4Addr, SocketAddrV4};
use smoltcp::socket::tcp::State;
use smoltcp::wire::{IPV4_HEADER_LEN, IpProtocol, Ipv4Packet, TcpPacket};

/// Connections that are told at once that their address is gone.
const BATCH: usize = 64;

impl<U> Net<'_, U> {
    /// A packet that we have written was not delivered.
    pub(in crate::stack) fn tcp_undeliverable(&mut self, packet: &[u8]) {
        let ip = Ipv4Packet::new_unchecked(packet);
        if ip.next_header() != IpProtocol::Tcp {
            return;
        }
        let tcp = TcpPacket::new_unchecked(&packet[IPV4_HEADER_LEN..]);
        let quoted = Quoted {
            source: ip.src_addr(),
            dest: ip.dst_addr(),
            protocol: IpProtocol::Tcp,
            source_port: tcp.src_port(),
            dest_port: tcp.dst_port(),
            seq: tcp.seq_number().0 as u32,
        };
        self.tcp_unreachable(Reason::Host, &quoted);
    }

    /// Somebody says that a segment of ours does not arrive. False: it is of no connection, or none of its segments.
    pub(in crate::stack) fn tcp_unreachable(&mut self, reason: Reason, quoted: &Quoted) -> bool {
        let why = match reason {
            Reason::Host => TcpError::HostUnreachable,
            Reason::Network => TcpError::Unreachable,
            Reason::Port | Reason::Protocol => TcpError::Refused,
            // Ours are not longer than any link of this kind takes, and shorter ones are not tried.
            Reason::TooLong => return false,
        };
        let tuple = Tuple {
            local: SocketAddrV4::new(quoted.source, quoted.source_port),
            remote: SocketAddrV4::new(quoted.dest, quoted.dest_port),
        };
        let conn = match self.stack.tcp.demux.lock().slots.get(&tuple) {
            Some(Slot::Conn(conn)) => conn.clone(),
            _ => return false,
        };
        self.with_conn(&conn, |inner, _| inner.unreachable(why, quoted.seq))
    }

    /// From now on this computer is called so. Connections under its old address end, for nobody finds them any more.
    pub(in crate::stack) fn rename(&mut self, address: Option<Address>) {
        let old = core::mem::replace(&mut *self.stack.address.lock(), address);
        if let Some(old) = old.filter(|old| address.is_none_or(|new| new.ip != old.ip)) {
            self.strand(old.ip)
        }
    }

    fn strand(&mut self, ip: Ipv4Addr) {
        loop {
            let (mut conns, mut halves) = (Vec::<Arc<Shared<U>>>::new(), Vec::new());
            {
                let demux = self.stack.tcp.demux.lock();
                let slots = demux.slots.iter();
                for (tuple, slot) in slots.filter(|(tuple, _)| *tuple.local.ip() == ip) {
                    match slot {
                        Slot::Conn(conn) if conns.len() < BATCH => conns.push(conn.clone()),
                        Slot::Half(_) if halves.len() < BATCH => halves.push(*tuple),
                        _ => (),
                    }
                }
            }
            if conns.is_empty() && halves.is_empty() {
                return;
            }
            halves.iter().for_each(|tuple| self.drop_half(tuple));
            for conn in &conns {
                self.with_conn(conn, |inner, _| inner.forget(TcpError::AddrNotAvailable))
            }
        }
    }
}

impl<U> Inner<U> {
    fn unreachable(&mut self, why: TcpError, seq: u32) -> bool {
        if self.socket().state() != State::SynSent {
            if why != TcpError::Refused {
                self.soft_error = Some(why)
            }
            return true;
        }
        // Of our SYN; who has not seen it does not know the number.
        let ours = self.egress.sight.next.wrapping_sub(1) == seq;
        if ours {
            self.forget(why)
        }
        ours
    }

    /// Ends it without a word.
    fn forget(&mut self, why: TcpError) {
        self.error.get_or_insert(why);
        self.egress.kept.clear();
        self.forgotten = true
    }
}
