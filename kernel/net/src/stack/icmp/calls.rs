//! ICMP as a part of the stack: echoes answered and asked for, complaints made and heard.

use super::{Echo, HEADER_BYTES, Incoming};
use crate::stack::common::TTL;
use crate::stack::ipv4::{Came, Head};
use crate::stack::udp::{Path, Socket, UdpError, Verdict, bind};
use crate::stack::{Counter, Net, Out, Ready, Stack};
use alloc::sync::Arc;
use core::net::{Ipv4Addr, SocketAddrV4};
use smoltcp::wire::{IPV4_HEADER_LEN, Icmpv4DstUnreachable as Code, IpProtocol};

impl<U> Stack<U> {
    /// Somebody who asks others whether they are there, under an identifier of his own. What [`Socket::recv`] gives him are their
    /// answers: the bytes sent, and as `from` their address and, as its port, the answer's sequence number.
    ///
    /// # Errors
    /// `InUse`: too many ask.
    pub fn ping_bind(&self, user: Arc<U>) -> Result<Arc<Socket<U>>, UdpError> {
        let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        bind(self, &self.pings, any, user)
    }

    /// Asks no more.
    pub fn ping_close(&self, socket: &Arc<Socket<U>>) {
        self.pings.close(socket)
    }

    /// Asks `dest` for `data` back. A full card loses it, as the way there might.
    ///
    /// # Errors
    /// `Unreachable`, `TooLong`, `Closed`.
    pub fn ping_send(
        &self,
        socket: &Socket<U>,
        dest: Ipv4Addr,
        seq: u16,
        data: &[u8],
        now_ns: u64,
        out: &mut dyn Out<U>,
    ) -> Result<(), UdpError> {
        let local = socket.local();
        // Checked as a datagram is; port 9 takes anything.
        socket.dest(Some(SocketAddrV4::new(dest, 9)), false)?;
        let source = self.source(*local.ip(), dest)?;
        if IPV4_HEADER_LEN + HEADER_BYTES + data.len() > self.config.mtu {
            return Err(UdpError::TooLong);
        }
        let ident = local.port();
        let header = super::echo_request(&Echo { ident, seq, data });
        let mut net = self.net(now_ns, out);
        net.send_icmp(source, dest, &header, data);
        net.run_looped();
        Ok(())
    }
}

impl<U> Net<'_, U> {
    /// An ICMP packet for us.
    pub(in crate::stack) fn icmp_came(&mut self, packet: &Came<'_>) {
        let stats = &self.stack.stats;
        let Ok(came) = super::parse(packet.payload) else {
            return stats.count(Counter::IcmpMalformed);
        };
        let taken = match came {
            Incoming::EchoRequest(echo) if self.may_answer(packet) => self.answer(packet, &echo),
            Incoming::EchoReply(echo) => self.answer_came(packet, &echo),
            // What we have sent, we have sent from where this came to.
            Incoming::Unreachable(reason, quoted)
                if quoted.source == packet.dest && quoted.protocol == IpProtocol::Tcp =>
            {
                self.tcp_unreachable(reason, &quoted)
            }
            Incoming::Unreachable(reason, quoted) if quoted.source == packet.dest => {
                let out = &mut *self.out;
                let mut ready = |user: &Arc<U>| out.ready(user, Ready::Readable);
                self.stack.udp.unreachable(reason, &quoted, &mut ready)
            }
            _ => false,
        };
        if !taken {
            stats.count(Counter::IcmpIgnored)
        }
    }

    /// It came from one computer, to us alone, under a name of ours.
    fn may_answer(&self, packet: &Came<'_>) -> bool {
        let ours = self.stack.address();
        let to_us = packet.dest.is_loopback() || ours.is_some_and(|a| a.ip == packet.dest);
        to_us && !packet.broadcast && !packet.source.is_unspecified()
    }

    fn answer(&mut self, packet: &Came<'_>, echo: &Echo<'_>) -> bool {
        let may = self.stack.icmp_limits.lock().echo.take(self.now_ns);
        if may {
            let header = super::echo_reply(echo);
            self.send_icmp(packet.dest, packet.source, &header, echo.data)
        } else {
            self.stack.stats.count(Counter::IcmpLimited)
        }
        true
    }

    fn answer_came(&mut self, packet: &Came<'_>, echo: &Echo<'_>) -> bool {
        let path = Path {
            source: packet.source,
            dest: packet.dest,
            to_all: false,
        };
        let from = SocketAddrV4::new(packet.source, echo.seq);
        let out = &mut *self.out;
        let mut readable = |user: &Arc<U>| out.ready(user, Ready::Readable);
        let pings = &self.stack.pings;
        let verdict = pings.deliver(path, echo.ident, from, echo.data, &mut readable);
        verdict == Verdict::Delivered
    }

    /// Says to who sent `packet` that it did not arrive.
    pub(in crate::stack) fn complain(&mut self, reason: Code, packet: &Came<'_>) {
        if !self.may_answer(packet) {
            return;
        }
        let Some((header, quote)) = super::unreachable(reason, packet.packet) else {
            return;
        };
        if self.stack.icmp_limits.lock().complaint.take(self.now_ns) {
            self.send_icmp(packet.dest, packet.source, &header, quote)
        } else {
            self.stack.stats.count(Counter::IcmpLimited)
        }
    }

    fn send_icmp(
        &mut self,
        source: Ipv4Addr,
        dest: Ipv4Addr,
        header: &[u8; HEADER_BYTES],
        data: &[u8],
    ) {
        let head = Head {
            source,
            dest,
            protocol: IpProtocol::Icmp,
            ttl: TTL,
            payload_bytes: HEADER_BYTES + data.len(),
        };
        self.send_packet(&head, &mut |to| {
            to[..HEADER_BYTES].copy_from_slice(header);
            to[HEADER_BYTES..].copy_from_slice(data)
        });
    }
}
