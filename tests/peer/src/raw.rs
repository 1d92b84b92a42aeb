//! Frames made by hand: what no well-behaved stack sends.

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
    UdpPacket, UdpRepr,
};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of Ethernet's header.
const ETHERNET: usize = 14;
/// Bytes of IPv4's.
const IPV4: usize = 20;
/// The address of everybody.
const BROADCAST: [u8; 6] = [0xff; 6];
const TTL: u8 = 64;

/// What a segment is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flags {
    /// Nothing but bytes and acknowledgements.
    #[default]
    None,
    /// SYN.
    Syn,
    /// FIN.
    Fin,
    /// RST.
    Rst,
}

/// A TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Whose it is, or claims to be.
    pub from: SocketAddrV4,
    /// Whom it goes to.
    pub to: SocketAddrV4,
    /// SYN, FIN, RST.
    pub flags: Flags,
    /// Number of its first byte.
    pub seq: u32,
    /// The next byte that is wanted; None: no ACK.
    pub ack: Option<u32>,
    /// Bytes that may come, unscaled.
    pub window: u16,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Segment {
    /// A SYN, as the first of a connection.
    pub fn syn(from: SocketAddrV4, to: SocketAddrV4, seq: u32) -> Segment {
        Segment {
            from,
            to,
            flags: Flags::Syn,
            seq,
            ack: None,
            window: 64_000,
            bytes: Vec::new(),
        }
    }

    fn repr(&self) -> TcpRepr<'_> {
        TcpRepr {
            src_port: self.from.port(),
            dst_port: self.to.port(),
            control: match self.flags {
                Flags::None => TcpControl::None,
                Flags::Syn => TcpControl::Syn,
                Flags::Fin => TcpControl::Fin,
                Flags::Rst => TcpControl::Rst,
            },
            seq_number: TcpSeqNumber(self.seq as i32),
            ack_number: self.ack.map(|ack| TcpSeqNumber(ack as i32)),
            window_len: self.window,
            window_scale: None,
            max_seg_size: None,
            sack_permitted: false,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &self.bytes,
        }
    }

    /// As a frame between these hardware addresses, with right checksums.
    pub fn frame(&self, from: [u8; 6], to: [u8; 6]) -> Vec<u8> {
        let (tcp, sums) = (self.repr(), ChecksumCapabilities::default());
        let ip = Ipv4Repr {
            src_addr: *self.from.ip(),
            dst_addr: *self.to.ip(),
            next_header: IpProtocol::Tcp,
            payload_len: tcp.buffer_len(),
            hop_limit: TTL,
        };
        let mut payload = vec![0; IPV4 + tcp.buffer_len()];
        ip.emit(&mut Ipv4Packet::new_unchecked(&mut payload[..]), &sums);
        let (src, dst) = ((*self.from.ip()).into(), (*self.to.ip()).into());
        let mut packet = TcpPacket::new_unchecked(&mut payload[IPV4..]);
        tcp.emit(&mut packet, &src, &dst, &sums);
        ethernet(from, to, EthernetProtocol::Ipv4.into(), &payload)
    }

    /// What a frame holds, if it is a sound segment.
    pub fn parse(frame: &[u8]) -> Option<Segment> {
        let ip = ipv4_in(frame, IpProtocol::Tcp)?;
        let (src, dst) = (ip.src_addr(), ip.dst_addr());
        let packet = TcpPacket::new_checked(ip.payload()).ok()?;
        let sums = ChecksumCapabilities::default();
        let tcp = TcpRepr::parse(&packet, &src.into(), &dst.into(), &sums).ok()?;
        Some(Segment {
            from: SocketAddrV4::new(src, tcp.src_port),
            to: SocketAddrV4::new(dst, tcp.dst_port),
            flags: match tcp.control {
                TcpControl::None | TcpControl::Psh => Flags::None,
                TcpControl::Syn => Flags::Syn,
                TcpControl::Fin => Flags::Fin,
                TcpControl::Rst => Flags::Rst,
            },
            seq: tcp.seq_number.0 as u32,
            ack: tcp.ack_number.map(|ack| ack.0 as u32),
            window: tcp.window_len,
            bytes: tcp.payload.to_vec(),
        })
    }
}

/// The IPv4 packet that a frame holds, if it is a sound one of that protocol.
fn ipv4_in(frame: &[u8], protocol: IpProtocol) -> Option<Ipv4Packet<&[u8]>> {
    let ethertype = EthernetFrame::new_checked(frame).ok()?.ethertype();
    let packet = frame.get(ETHERNET..)?;
    let ip = Ipv4Packet::new_checked(packet).ok()?;
    let sound =
        ethertype == EthernetProtocol::Ipv4 && ip.next_header() == protocol && ip.verify_checksum();
    sound.then_some(ip)
}

/// A UDP datagram from a hardware address and a socket's to others, as a frame with right checksums.
pub fn datagram(
    from: ([u8; 6], SocketAddrV4),
    to: ([u8; 6], SocketAddrV4),
    bytes: &[u8],
) -> Vec<u8> {
    let (udp, sums) = (
        UdpRepr {
            src_port: from.1.port(),
            dst_port: to.1.port(),
        },
        ChecksumCapabilities::default(),
    );
    let ip = Ipv4Repr {
        src_addr: *from.1.ip(),
        dst_addr: *to.1.ip(),
        next_header: IpProtocol::Udp,
        payload_len: udp.header_len() + bytes.len(),
        hop_limit: TTL,
    };
    let mut payload = vec![0; IPV4 + ip.payload_len];
    ip.emit(&mut Ipv4Packet::new_unchecked(&mut payload[..]), &sums);
    let (src, dst) = ((*from.1.ip()).into(), (*to.1.ip()).into());
    let mut packet = UdpPacket::new_unchecked(&mut payload[IPV4..]);
    let fill = |place: &mut [u8]| place.copy_from_slice(bytes);
    udp.emit(&mut packet, &src, &dst, bytes.len(), fill, &sums);
    ethernet(from.0, to.0, EthernetProtocol::Ipv4.into(), &payload)
}

/// What a frame holds, if it is a sound datagram: whose, to whom, what.
pub fn datagram_in(frame: &[u8]) -> Option<(SocketAddrV4, SocketAddrV4, Vec<u8>)> {
    let ip = ipv4_in(frame, IpProtocol::Udp)?;
    let (src, dst) = (ip.src_addr(), ip.dst_addr());
    let packet = UdpPacket::new_checked(ip.payload()).ok()?;
    let sums = ChecksumCapabilities::default();
    let udp = UdpRepr::parse(&packet, &src.into(), &dst.into(), &sums).ok()?;
    let from = SocketAddrV4::new(src, udp.src_port);
    let to = SocketAddrV4::new(dst, udp.dst_port);
    Some((from, to, packet.payload().to_vec()))
}

/// Any frame at all.
pub fn ethernet(from: [u8; 6], to: [u8; 6], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; ETHERNET + payload.len()];
    let repr = EthernetRepr {
        src_addr: EthernetAddress(from),
        dst_addr: EthernetAddress(to),
        ethertype: kind.into(),
    };
    repr.emit(&mut EthernetFrame::new_unchecked(&mut bytes[..]));
    bytes[ETHERNET..].copy_from_slice(payload);
    bytes
}

fn arp(
    operation: ArpOperation,
    (mac, ip): ([u8; 6], Ipv4Addr),
    (to, whose): ([u8; 6], Ipv4Addr),
) -> Vec<u8> {
    let repr = ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: EthernetAddress(mac),
        source_protocol_addr: ip,
        target_hardware_addr: EthernetAddress(if to == BROADCAST { [0; 6] } else { to }),
        target_protocol_addr: whose,
    };
    let mut payload = vec![0; repr.buffer_len()];
    repr.emit(&mut ArpPacket::new_unchecked(&mut payload[..]));
    ethernet(mac, to, EthernetProtocol::Arp.into(), &payload)
}

/// Who has `whose`?
pub fn arp_request(mac: [u8; 6], ip: Ipv4Addr, whose: Ipv4Addr) -> Vec<u8> {
    arp(ArpOperation::Request, (mac, ip), (BROADCAST, whose))
}

/// `ip` is at `mac`, to whoever has asked.
pub fn arp_reply(mac: [u8; 6], ip: Ipv4Addr, to: ([u8; 6], Ipv4Addr)) -> Vec<u8> {
    arp(ArpOperation::Reply, (mac, ip), to)
}
