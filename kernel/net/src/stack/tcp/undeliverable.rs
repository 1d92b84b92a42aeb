//! A segment of ours whose neighbour does not answer ARP. Who is only asking for a connection is told at once (Linux: `EHOSTUNREACH`); one that
//! stands has time until it is given up.

use super::TcpError;
use super::demux::{Slot, Tuple};
use crate::stack::Net;
use core::net::SocketAddrV4;
use smoltcp::socket::tcp::State;
use smoltcp::wire::{IPV4_HEADER_LEN, IpProtocol, Ipv4Packet, TcpPacket};

impl<U> Net<'_, U> {
    /// A packet that we have written was not delivered.
    pub(in crate::stack) fn tcp_undeliverable(&mut self, packet: &[u8]) {
        let ip = Ipv4Packet::new_unchecked(packet);
        if ip.next_header() != IpProtocol::Tcp {
            return;
        }
        let tcp = TcpPacket::new_unchecked(&packet[IPV4_HEADER_LEN..]);
        let tuple = Tuple {
            local: SocketAddrV4::new(ip.src_addr(), tcp.src_port()),
            remote: SocketAddrV4::new(ip.dst_addr(), tcp.dst_port()),
        };
        let conn = match self.stack.tcp.demux.lock().slots.get(&tuple) {
            Some(Slot::Conn(conn)) => conn.clone(),
            _ => return,
        };
        self.with_conn(&conn, |inner, _| {
            if inner.socket().state() == State::SynSent {
                inner.error.get_or_insert(TcpError::Unreachable);
                inner.forgotten = true
            }
        })
    }
}
