//! Segments: what comes is checked and finds its owner; what we say without a connection is written here.

use super::conn::Shared;
use super::demux::{Slot, Tuple};
use super::number::before;
use crate::stack::common::TTL;
use crate::stack::ipv4::{Came, Head};
use crate::stack::{Counter, Net};
use alloc::{sync::Arc, vec, vec::Vec};
use core::net::SocketAddrV4;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    IPV4_HEADER_LEN, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
};

/// A segment that came.
pub(super) struct Segment<'a> {
    pub tuple: Tuple,
    pub repr: TcpRepr<'a>,
    /// The packet that it came in.
    pub packet: &'a [u8],
}

impl Segment<'_> {
    /// Its first sequence number.
    pub fn seq(&self) -> u32 {
        self.repr.seq_number.0 as u32
    }

    /// The number behind its last.
    pub fn end(&self) -> u32 {
        self.seq().wrapping_add(self.repr.segment_len() as u32)
    }

    /// What it acknowledges.
    pub fn ack(&self) -> Option<u32> {
        self.repr.ack_number.map(|n| n.0 as u32)
    }

    pub fn is(&self, control: TcpControl) -> bool {
        self.repr.control == control
    }
}

/// What can be seen of a connection from its outgoing segments.
#[derive(Clone, Copy, Default)]
pub(super) struct Sight {
    /// The number behind the last that was sent, SYN and FIN included.
    pub next: u32,
    /// The first that they have not acknowledged.
    pub unanswered: u32,
    /// What was acknowledged.
    pub acked: u32,
    any: bool,
}

impl Sight {
    /// A packet goes out.
    pub fn note(&mut self, packet: &[u8]) {
        let tcp = TcpPacket::new_unchecked(&packet[IPV4_HEADER_LEN..]);
        let seq = tcp.seq_number().0 as u32;
        let end = seq.wrapping_add(tcp.segment_len() as u32);
        if !self.any {
            self.unanswered = seq
        }
        if !self.any || before(self.next, end) {
            self.next = end
        }
        self.any = true;
        if tcp.ack() {
            self.acked = tcp.ack_number().0 as u32
        }
    }

    /// They say that they have what lies before `ack`.
    pub fn answered(&mut self, ack: u32) {
        if before(self.unanswered, ack) && !before(self.next, ack) {
            self.unanswered = ack
        }
    }

    /// May a segment that begins so be on its way?
    pub fn is_under_way(&self, seq: u32) -> bool {
        !before(seq, self.unanswered) && before(seq, self.next)
    }
}

/// Whose it is.
enum Owner<U> {
    Conn(Arc<Shared<U>>),
    Half,
    Waiting,
    Listener,
    Nobody,
    /// Somebody's who is not there yet.
    Later,
}

impl<U> Net<'_, U> {
    pub(in crate::stack) fn tcp_came(&mut self, came: &Came<'_>) {
        let stats = &self.stack.stats;
        if came.broadcast || came.dest.is_multicast() || came.source.is_unspecified() {
            return stats.count(Counter::TcpNotUnicast);
        }
        let Ok(packet) = TcpPacket::new_checked(came.payload) else {
            return stats.count(Counter::TcpMalformed);
        };
        let (source, dest) = (came.source.into(), came.dest.into());
        if !came.checked && !packet.verify_checksum(&source, &dest) {
            return stats.count(Counter::TcpChecksum);
        }
        let caps = ChecksumCapabilities::ignored();
        let Ok(repr) = TcpRepr::parse(&packet, &source, &dest, &caps) else {
            return stats.count(Counter::TcpMalformed);
        };
        let tuple = Tuple {
            local: SocketAddrV4::new(came.dest, repr.dst_port),
            remote: SocketAddrV4::new(came.source, repr.src_port),
        };
        let segment = Segment {
            tuple,
            repr,
            packet: came.packet,
        };
        match self.owner(&tuple) {
            Owner::Conn(conn) => self.conn_segment(&conn, &segment),
            Owner::Half => self.half_segment(&segment),
            Owner::Waiting => self.waiting_segment(&segment),
            Owner::Listener => self.listener_segment(&segment),
            Owner::Nobody => self.nobodys_segment(&segment),
            Owner::Later => (),
        }
    }

    fn owner(&self, tuple: &Tuple) -> Owner<U> {
        let mut demux = self.stack.tcp.demux.lock();
        match demux.slots.get(tuple) {
            Some(Slot::Conn(conn)) => return Owner::Conn(conn.clone()),
            Some(Slot::Half(_)) => return Owner::Half,
            Some(Slot::Waiting(_)) => return Owner::Waiting,
            Some(Slot::Reserved) => return Owner::Later,
            None => (),
        }
        match demux.listener(tuple.local) {
            Some(_) => Owner::Listener,
            None => Owner::Nobody,
        }
    }

    /// Says something to `tuple.remote`. It is counted and forgotten if the card is full.
    pub(super) fn say(&mut self, tuple: &Tuple, repr: &TcpRepr<'_>) {
        let head = Head {
            source: *tuple.local.ip(),
            dest: *tuple.remote.ip(),
            protocol: IpProtocol::Tcp,
            ttl: TTL,
            payload_bytes: repr.buffer_len(),
        };
        self.send_packet(&head, &mut |to| {
            let caps = ChecksumCapabilities::ignored();
            let (source, dest) = (head.source.into(), head.dest.into());
            repr.emit(&mut TcpPacket::new_unchecked(to), &source, &dest, &caps)
        });
    }
}

/// A packet that carries `repr`, without TCP's checksum.
pub(super) fn whole_packet(tuple: &Tuple, repr: &TcpRepr<'_>) -> Vec<u8> {
    let ip = Ipv4Repr {
        src_addr: *tuple.local.ip(),
        dst_addr: *tuple.remote.ip(),
        next_header: IpProtocol::Tcp,
        payload_len: repr.buffer_len(),
        hop_limit: TTL,
    };
    let caps = ChecksumCapabilities::ignored();
    let mut packet = vec![0; IPV4_HEADER_LEN + repr.buffer_len()];
    ip.emit(&mut Ipv4Packet::new_unchecked(&mut packet[..]), &caps);
    let mut tcp = TcpPacket::new_unchecked(&mut packet[IPV4_HEADER_LEN..]);
    repr.emit(&mut tcp, &ip.src_addr.into(), &ip.dst_addr.into(), &caps);
    packet
}

/// A segment of ours with nothing in it.
pub(super) fn bare(tuple: &Tuple, seq: u32, ack: Option<u32>, window: u16) -> TcpRepr<'static> {
    TcpRepr {
        src_port: tuple.local.port(),
        dst_port: tuple.remote.port(),
        control: TcpControl::None,
        seq_number: TcpSeqNumber(seq as i32),
        ack_number: ack.map(|n| TcpSeqNumber(n as i32)),
        window_len: window,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload: &[],
    }
}
