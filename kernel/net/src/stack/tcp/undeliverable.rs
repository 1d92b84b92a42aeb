//! A segment of ours that does not arrive: its neighbour does not answer ARP, or somebody on the way says so by ICMP.
//!
//! Who is only asking for a connection is told at once (Linux: `tcp_v4_err`, `EHOSTUNREACH`); one that stands has time until it is
//! given up, and the reason is this one then, if nothing else was heard (RFC 1122, 4.2.3.9). Who says so by ICMP is believed if he has
//! seen a segment that may be on its way (RFC 5927, 4).

use super::TcpError;
use super::conn::Inner;
use super::demux::{Slot, Tuple};
use crate::stack::Net;
use crate::stack::icmp::{Quoted, Reason};
use core::net::SocketAddrV4;
use smoltcp::socket::tcp::State;
use smoltcp::wire::{IPV4_HEADER_LEN, IpProtocol, Ipv4Packet, TcpPacket};

/// Who says that a segment did not arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Witness {
    Ourselves,
    /// Anybody, by ICMP.
    Stranger,
}

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
        self.undelivered(TcpError::HostUnreachable, &quoted, Witness::Ourselves);
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
        self.undelivered(why, quoted, Witness::Stranger)
    }

    fn undelivered(&mut self, why: TcpError, quoted: &Quoted, witness: Witness) -> bool {
        let tuple = Tuple {
            local: SocketAddrV4::new(quoted.source, quoted.source_port),
            remote: SocketAddrV4::new(quoted.dest, quoted.dest_port),
        };
        let conn = match self.stack.tcp.demux.lock().slots.get(&tuple) {
            Some(Slot::Conn(conn)) => conn.clone(),
            _ => return false,
        };
        self.with_conn(&conn, |inner, _| {
            inner.unreachable(why, quoted.seq, witness)
        })
    }
}

impl<U> Inner<U> {
    /// A segment of ours that begins with `seq` did not arrive. False: we have sent none such, or they have it.
    fn unreachable(&mut self, why: TcpError, seq: u32, witness: Witness) -> bool {
        // Of a SYN: who has not seen it does not know the number.
        let opening = self.socket().state() == State::SynSent;
        let may_guess = opening || witness == Witness::Stranger;
        if may_guess && !self.egress.sight.is_under_way(seq) {
            return false;
        }
        if opening {
            self.forget(why)
        } else if why != TcpError::Refused {
            self.soft_error = Some(why)
        }
        true
    }

    /// Ends it without a word.
    pub fn forget(&mut self, why: TcpError) {
        self.error.get_or_insert(why);
        self.egress.kept.clear();
        self.forgotten = true
    }
}
