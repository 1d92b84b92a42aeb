//! ICMP (RFC 792): echoes, and what is said about packets that reached nobody.
//!
//! What binds it to the stack is `icmp/calls.rs`; the rest is functions: a header is laid out by a function here, and goes out in front of a payload that stays where it is. What comes is read by
//! [`parse`]. `smoltcp` has the numbers and the sums; its reader of complaints is not used, since it wants the packet that is
//! complained about whole, and routers quote no more than its first bytes.

mod calls;
#[cfg(test)]
mod tests;

use super::limit::Limit;
use core::net::Ipv4Addr;
use smoltcp::wire::{
    Icmpv4DstUnreachable as Code, Icmpv4Message as Message, Icmpv4Packet, IpProtocol, Ipv4Packet,
    checksum,
};

/// Bytes of every header here.
pub const HEADER_BYTES: usize = 8;
/// As much of a packet is quoted that the complaint about it has 576 bytes at most (RFC 1812, 4.3.2.3).
const QUOTE_MOST: usize = 576 - 20 - HEADER_BYTES;
/// What must be quoted behind the IP header (RFC 792): ports, and TCP's sequence number.
const QUOTE_LEAST: usize = 8;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// Somebody wants these bytes back.
    EchoRequest(Echo<'a>),
    /// The answer to that.
    EchoReply(Echo<'a>),
    /// A packet of ours did not arrive.
    Unreachable(Reason, Quoted),
    /// Something that nobody here wants to know.
    Other,
}

/// A request or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Who asks: a port of sorts.
    pub ident: u16,
    /// Which request it is.
    pub seq: u16,
    /// The bytes that travel.
    pub data: &'a [u8],
}

/// Why a packet did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No way to that network, or none that is allowed.
    Network,
    /// No such computer, or one that may not be talked to; also: the packet went round in circles.
    Host,
    /// The computer knows no such protocol.
    Protocol,
    /// Nobody listens at that port.
    Port,
    /// The packet is longer than a link on its way takes.
    TooLong,
}

/// A packet of ours, as far as it was quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Our address.
    pub source: Ipv4Addr,
    /// Where it was to go.
    pub dest: Ipv4Addr,
    /// TCP, UDP.
    pub protocol: IpProtocol,
    /// Our port.
    pub source_port: u16,
    /// The port that it was to go to.
    pub dest_port: u16,
    /// TCP's sequence number. In UDP length and checksum stand there.
    pub seq: u32,
}

/// Why a message is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// It is shorter than its header.
    Short,
    /// The sum over it is wrong.
    Checksum,
    /// What it quotes is no packet, or too little of one.
    Quote,
}

/// Reads a message: all bytes behind the IP header.
///
/// # Errors
/// It is malformed.
pub fn parse(bytes: &[u8]) -> Result<Incoming<'_>, Bad> {
    let packet = Icmpv4Packet::new_checked(bytes).map_err(|_| Bad::Short)?;
    if !packet.verify_checksum() {
        return Err(Bad::Checksum);
    }
    let data = &bytes[HEADER_BYTES..];
    match (packet.msg_type(), packet.msg_code()) {
        (kind @ (Message::EchoRequest | Message::EchoReply), 0) => {
            let echo = Echo {
                ident: packet.echo_ident(),
                seq: packet.echo_seq_no(),
                data,
            };
            Ok(match kind {
                Message::EchoRequest => Incoming::EchoRequest(echo),
                _ => Incoming::EchoReply(echo),
            })
        }
        (Message::DstUnreachable, code) => {
            let reason = reason(Code::from(code));
            Ok(Incoming::Unreachable(reason, quoted(data)?))
        }
        (Message::TimeExceeded, _) => Ok(Incoming::Unreachable(Reason::Host, quoted(data)?)),
        _ => Ok(Incoming::Other),
    }
}

fn reason(code: Code) -> Reason {
    match code {
        Code::NetUnreachable | Code::DstNetUnknown | Code::NetProhibited | Code::NetUnreachToS => {
            Reason::Network
        }
        Code::ProtoUnreachable => Reason::Protocol,
        Code::PortUnreachable => Reason::Port,
        Code::FragRequired => Reason::TooLong,
        _ => Reason::Host,
    }
}

fn quoted(bytes: &[u8]) -> Result<Quoted, Bad> {
    // `check_len` would ask for `total_len` bytes.
    if bytes.len() < 20 {
        return Err(Bad::Quote);
    }
    let packet = Ipv4Packet::new_unchecked(bytes);
    let header = usize::from(packet.header_len());
    let sound = packet.version() == 4 && header >= 20 && packet.frag_offset() == 0;
    let rest = bytes.get(header..header + QUOTE_LEAST);
    let &[a, b, c, d, e, f, g, h] = rest.filter(|_| sound).ok_or(Bad::Quote)? else {
        return Err(Bad::Quote);
    };
    Ok(Quoted {
        source: packet.src_addr(),
        dest: packet.dst_addr(),
        protocol: packet.next_header(),
        source_port: u16::from_be_bytes([a, b]),
        dest_port: u16::from_be_bytes([c, d]),
        seq: u32::from_be_bytes([e, f, g, h]),
    })
}

/// The header of an echo's request.
pub fn echo_request(echo: &Echo<'_>) -> [u8; HEADER_BYTES] {
    header(Message::EchoRequest, 0, echo.ident, echo.seq, echo.data)
}

/// The header of the answer to it.
pub fn echo_reply(echo: &Echo<'_>) -> [u8; HEADER_BYTES] {
    header(Message::EchoReply, 0, echo.ident, echo.seq, echo.data)
}

/// The header of "nobody listens at that port" or "nobody knows that protocol", and what of the `packet`, from its IP header on,
/// goes behind it. None: about this packet nothing may be said (RFC 1122, 3.2.2), for it came from nobody or complains itself.
/// That it was meant for one alone, not for all, only the caller knows.
pub fn unreachable(reason: Code, packet: &[u8]) -> Option<([u8; HEADER_BYTES], &[u8])> {
    let ip = Ipv4Packet::new_checked(packet).ok()?;
    let source = ip.src_addr();
    let from_one = !source.is_unspecified() && !source.is_broadcast() && !source.is_multicast();
    // Loopback's own addresses may complain to each other.
    let complains = ip.next_header() == IpProtocol::Icmp && {
        let kind = ip.payload().first().map(|&kind| Message::from(kind));
        !matches!(kind, Some(Message::EchoRequest | Message::EchoReply))
    };
    if !from_one || complains || ip.frag_offset() != 0 {
        return None;
    }
    let quote = &packet[..usize::from(ip.total_len()).min(QUOTE_MOST)];
    let header = header(Message::DstUnreachable, reason.into(), 0, 0, quote);
    Some((header, quote))
}

fn header(kind: Message, code: u8, ident: u16, seq: u16, data: &[u8]) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    let mut packet = Icmpv4Packet::new_unchecked(&mut bytes[..]);
    packet.set_msg_type(kind);
    packet.set_msg_code(code);
    packet.set_echo_ident(ident);
    packet.set_echo_seq_no(seq);
    let sum = checksum::combine(&[checksum::data(packet.as_ref()), checksum::data(data)]);
    packet.set_checksum(!sum);
    bytes
}

/// How much is answered: without limits a stranger could have us send as much as he can.
pub(super) struct Limits {
    /// Echoes.
    pub echo: Limit,
    /// Complaints (Linux: `icmp_ratelimit` and `icmp_msgs_per_sec`).
    pub complaint: Limit,
}

impl Limits {
    /// Ten thousand echoes a second, a thousand complaints.
    pub const fn new() -> Limits {
        Limits {
            echo: Limit::new(10_000, 1_000),
            complaint: Limit::new(1_000, 50),
        }
    }
}
