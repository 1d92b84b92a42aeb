//! Messages made by `smoltcp` are read here, and ours by `smoltcp`.

use super::*;
use crate::stack::fuzz;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{Icmpv4Repr, Ipv4Repr};

const US: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const THEM: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

fn joined(header: [u8; HEADER_BYTES], data: &[u8]) -> Vec<u8> {
    [&header[..], data].concat()
}

fn emitted(repr: &Icmpv4Repr<'_>) -> Vec<u8> {
    let mut bytes = vec![0; repr.buffer_len()];
    repr.emit(
        &mut Icmpv4Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::default(),
    );
    bytes
}

/// An IP packet with `payload`.
fn packet(source: Ipv4Addr, dest: Ipv4Addr, protocol: IpProtocol, payload: &[u8]) -> Vec<u8> {
    let repr = Ipv4Repr {
        src_addr: source,
        dst_addr: dest,
        next_header: protocol,
        payload_len: payload.len(),
        hop_limit: 64,
    };
    let mut bytes = vec![0; 20 + payload.len()];
    repr.emit(
        &mut Ipv4Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::default(),
    );
    bytes[20..].copy_from_slice(payload);
    bytes
}

/// A datagram's first bytes: ports 0x1111 to 0x2222.
const DATAGRAM: [u8; 12] = [0x11, 0x11, 0x22, 0x22, 0, 12, 0, 0, 1, 2, 3, 4];

#[test]
fn echoes_are_what_smoltcp_makes_of_them() {
    for len in [0, 1, 2, 3, 56, 1472] {
        let data = vec![0xa5; len];
        let (ident, seq, data) = (0x1234, 0xfffe, &data[..]);
        let echo = Echo { ident, seq, data };
        let request = Icmpv4Repr::EchoRequest {
            ident,
            seq_no: seq,
            data,
        };
        assert_eq!(joined(echo_request(&echo), data), emitted(&request));
        let reply = Icmpv4Repr::EchoReply {
            ident,
            seq_no: seq,
            data,
        };
        assert_eq!(joined(echo_reply(&echo), data), emitted(&reply));
        assert_eq!(parse(&emitted(&request)), Ok(Incoming::EchoRequest(echo)));
        assert_eq!(parse(&emitted(&reply)), Ok(Incoming::EchoReply(echo)));
    }
}

#[test]
fn a_complaint_names_the_packet_though_it_quotes_little() {
    let long = packet(
        US,
        THEM,
        IpProtocol::Udp,
        &[&DATAGRAM[..], &[0; 1400]].concat(),
    );
    let wanted = Quoted {
        source: US,
        dest: THEM,
        protocol: IpProtocol::Udp,
        source_port: 0x1111,
        dest_port: 0x2222,
        seq: 0x000c_0000,
    };
    let (header, quote) = unreachable(Code::PortUnreachable, &long).unwrap();
    assert_eq!(quote.len() + 28, 576);
    let complaint = parse(&joined(header, quote)).map(|came| format!("{came:?}"));
    let same = Incoming::Unreachable(Reason::Port, wanted);
    assert_eq!(complaint, Ok(format!("{same:?}")));
    // As a router does that quotes no more than it must.
    let least = &long[..28];
    let message = joined(
        super::header(Message::DstUnreachable, 1, 0, 0, least),
        least,
    );
    let came = Incoming::Unreachable(Reason::Host, wanted);
    assert_eq!(parse(&message), Ok(came));
    let least = &long[..27];
    let message = joined(
        super::header(Message::DstUnreachable, 1, 0, 0, least),
        least,
    );
    assert_eq!(parse(&message), Err(Bad::Quote));
}

#[test]
fn reasons() {
    let quote = packet(US, THEM, IpProtocol::Udp, &DATAGRAM);
    let reason_of = |kind, code| {
        let message = joined(super::header(kind, code, 0, 0, &quote), &quote);
        match parse(&message) {
            Ok(Incoming::Unreachable(reason, _)) => reason,
            other => panic!("{other:?}"),
        }
    };
    let codes: Vec<_> = (0..16)
        .map(|code| reason_of(Message::DstUnreachable, code))
        .collect();
    use Reason::*;
    let wanted = [
        Network, Host, Protocol, Port, TooLong, Host, Network, Host, Host, Network, Host, Network,
        Host, Host, Host, Host,
    ];
    assert_eq!(codes, wanted);
    assert_eq!(reason_of(Message::TimeExceeded, 0), Host);
}

#[test]
fn malformed() {
    let good = emitted(&Icmpv4Repr::EchoRequest {
        ident: 1,
        seq_no: 2,
        data: &[3; 5],
    });
    assert_eq!(parse(&good[..7]), Err(Bad::Short));
    assert_eq!(parse(&[]), Err(Bad::Short));
    for i in 0..good.len() {
        let mut bad = good.clone();
        bad[i] ^= 0x40;
        assert_eq!(parse(&bad), Err(Bad::Checksum), "byte {i}");
    }
    let timestamp = super::header(Message::Timestamp, 0, 0, 0, &[]);
    assert_eq!(parse(&timestamp), Ok(Incoming::Other));
}

#[test]
fn nobody_complains_about_complaints_or_to_nobody() {
    let about = |packet: &[u8]| unreachable(Code::PortUnreachable, packet).is_some();
    assert!(about(&packet(THEM, US, IpProtocol::Udp, &DATAGRAM)));
    for nobody in ["0.0.0.0", "255.255.255.255", "224.0.0.1"] {
        let from = nobody.parse().unwrap();
        assert!(
            !about(&packet(from, US, IpProtocol::Udp, &DATAGRAM)),
            "{nobody}"
        );
    }
    let quote = packet(US, THEM, IpProtocol::Udp, &DATAGRAM);
    let complaint = joined(
        super::header(Message::DstUnreachable, 3, 0, 0, &quote),
        &quote,
    );
    assert!(!about(&packet(THEM, US, IpProtocol::Icmp, &complaint)));
    assert!(!about(&packet(THEM, US, IpProtocol::Icmp, &[])));
    let mut fragment = packet(THEM, US, IpProtocol::Udp, &DATAGRAM);
    fragment[7] = 9;
    assert!(!about(&fragment));
    assert!(!about(&[0x45; 10]));
}

#[test]
fn fuzz_messages() {
    let quote = packet(US, THEM, IpProtocol::Udp, &DATAGRAM);
    let seeds = [
        emitted(&Icmpv4Repr::EchoRequest {
            ident: 1,
            seq_no: 2,
            data: &[3; 40],
        }),
        joined(
            super::header(Message::DstUnreachable, 3, 0, 0, &quote),
            &quote,
        ),
        joined(
            super::header(Message::TimeExceeded, 0, 0, 0, &quote),
            &quote,
        ),
    ];
    let mut seen = [0u64; 7];
    fuzz::run(&seeds, |bytes| {
        // Half of them with a sum that is right again: what lies behind it is to be reached.
        if bytes.len() >= HEADER_BYTES && bytes[bytes.len() - 1] & 1 == 0 {
            Icmpv4Packet::new_unchecked(&mut bytes[..]).fill_checksum()
        }
        let came = parse(bytes);
        seen[match came {
            Ok(Incoming::EchoRequest(_)) => 0,
            Ok(Incoming::EchoReply(_)) => 1,
            Ok(Incoming::Unreachable(..)) => 2,
            Ok(Incoming::Other) => 3,
            Err(Bad::Short) => 4,
            Err(Bad::Checksum) => 5,
            Err(Bad::Quote) => 6,
        }] += 1;
        let _ = unreachable(Code::PortUnreachable, bytes);
    });
    assert!(seen.iter().all(|&n| n != 0), "{seen:?}");
}
