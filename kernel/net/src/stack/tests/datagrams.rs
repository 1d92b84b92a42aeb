//! UDP and ICMP between two stacks, and from a stack to itself.

use super::wire::{A, B, Card, Host, Told, settle};
use crate::stack::Counter;
use crate::stack::udp::{Received, Socket, UdpError};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const HOME: Ipv4Addr = Ipv4Addr::LOCALHOST;

type Sock = Arc<Socket<Told>>;

fn at(ip: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(ip, port)
}

fn bind(host: &Host, ip: Ipv4Addr, port: u16) -> Sock {
    host.stack.udp_bind(at(ip, port), Arc::default()).unwrap()
}

fn send(
    host: &mut Host,
    socket: &Sock,
    to: Option<SocketAddrV4>,
    data: &[u8],
) -> Result<usize, UdpError> {
    host.stack.udp_send(socket, to, data, 0, &mut host.card)
}

fn readable(socket: &Sock) -> u32 {
    socket.user().readable.load(Relaxed)
}

#[test]
fn there_and_back_with_and_without_offload() {
    for offload in [false, true] {
        let mut a = Host::with(A, |config| config.offload = offload);
        let mut b = Host::with(B, |config| config.offload = offload);
        let (client, server) = (bind(&a, ANY, 0), bind(&b, ANY, 7));
        let mut buffer = vec![0; 2000];
        for len in [0, 1, 2, 3, 500, 1472] {
            let data: Vec<u8> = (0..len).map(|i| i as u8 ^ 0x5a).collect();
            assert_eq!(send(&mut a, &client, Some(at(B, 7)), &data), Ok(len));
            settle(&mut a, &mut b, 0);
            let from = at(A, client.local().port());
            let whole = len;
            assert_eq!(server.recv(&mut buffer), Ok(Received { from, len, whole }));
            assert_eq!(buffer[..len], data);
            assert_eq!(send(&mut b, &server, Some(from), &data), Ok(len));
            settle(&mut a, &mut b, 0);
            let from = at(B, 7);
            assert_eq!(client.recv(&mut buffer), Ok(Received { from, len, whole }));
            assert_eq!(buffer[..len], data);
        }
        assert_eq!((readable(&client), readable(&server)), (6, 6));
        let long = send(&mut a, &client, Some(at(B, 7)), &[0; 1473]);
        assert_eq!(long, Err(UdpError::TooLong));
    }
}

#[test]
fn nobody_there() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let socket = bind(&a, ANY, 0);
    // One that talks to many does not hear of it.
    send(&mut a, &socket, Some(at(B, 9)), b"x").unwrap();
    settle(&mut a, &mut b, 0);
    assert_eq!(socket.recv(&mut []), Err(UdpError::WouldBlock));
    assert_eq!(a.stack.stats.get(Counter::IcmpIgnored), 1);
    assert_eq!(b.stack.stats.get(Counter::UdpNobody), 1);
    a.stack.udp_connect(&socket, at(B, 9)).unwrap();
    assert_eq!(*a.stack.udp_local(&socket).ip(), A);
    send(&mut a, &socket, None, b"x").unwrap();
    settle(&mut a, &mut b, 0);
    assert_eq!(readable(&socket), 1);
    assert_eq!(socket.recv(&mut []), Err(UdpError::Refused));
    assert_eq!(send(&mut a, &socket, None, b"x"), Ok(1));
    settle(&mut a, &mut b, 0);
    assert_eq!(send(&mut a, &socket, None, b"x"), Err(UdpError::Refused));
    assert_eq!(send(&mut a, &socket, None, b"x"), Ok(1));
    // On the way to oneself as well.
    a.stack.udp_connect(&socket, at(HOME, 9)).unwrap();
    send(&mut a, &socket, None, b"x").unwrap();
    assert_eq!(socket.recv(&mut []), Err(UdpError::Refused));
}

#[test]
fn to_oneself() {
    let mut a = Host::new(A);
    let (client, server) = (bind(&a, ANY, 0), bind(&a, ANY, 7));
    let home = bind(&a, HOME, 8);
    let big = vec![3; 65_507];
    for (to, from) in [(HOME, HOME), (A, A), (Ipv4Addr::new(127, 1, 2, 3), HOME)] {
        send(&mut a, &client, Some(at(to, 7)), &big).unwrap();
        let mut buffer = vec![0; 70_000];
        let got = server.recv(&mut buffer).unwrap();
        assert_eq!((*got.from.ip(), got.len), (from, 65_507));
        assert_eq!(buffer[..got.len], big);
    }
    let longer = send(&mut a, &client, Some(at(HOME, 7)), &[0; 65_508]);
    assert_eq!(longer, Err(UdpError::TooLong));
    assert!(a.card.sent.is_empty());
    // What is bound to 127.0.0.1 hears nothing else, and does not get out.
    send(&mut a, &client, Some(at(A, 8)), b"x").unwrap();
    assert_eq!(home.recv(&mut []), Err(UdpError::WouldBlock));
    let out = send(&mut a, &home, Some(at(B, 7)), b"x");
    assert_eq!(out, Err(UdpError::Unreachable));
}

#[test]
fn to_all() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let socket = bind(&a, ANY, 0);
    let (first, second) = (bind(&b, ANY, 7), bind(&b, B, 8));
    let all = [Ipv4Addr::BROADCAST, Ipv4Addr::new(10, 0, 0, 255)];
    for to in all {
        let denied = send(&mut a, &socket, Some(at(to, 7)), b"x");
        assert_eq!(denied, Err(UdpError::NoBroadcast));
    }
    socket.set_broadcast(true);
    for to in all {
        for port in [7, 8, 9] {
            send(&mut a, &socket, Some(at(to, port)), b"x").unwrap();
        }
        settle(&mut a, &mut b, 0);
    }
    assert_eq!((readable(&first), readable(&second)), (2, 0));
    // Nobody complains about what was for all.
    assert_eq!(b.stack.stats.get(Counter::UdpNobody), 4);
    assert_eq!(b.stack.stats.get(Counter::FramesOut), 0);
}

#[test]
fn where_no_way_goes() {
    let mut a = Host::new(A);
    let socket = bind(&a, ANY, 0);
    for nowhere in [ANY, Ipv4Addr::new(224, 0, 0, 1)] {
        let sent = send(&mut a, &socket, Some(at(nowhere, 7)), b"x");
        assert_eq!(sent, Err(UdpError::Unreachable));
    }
    let zero = send(&mut a, &socket, Some(at(B, 0)), b"x");
    assert_eq!(zero, Err(UdpError::Unreachable));
    assert_eq!(
        send(&mut a, &socket, None, b"x"),
        Err(UdpError::NotConnected)
    );
    let foreign = a.stack.udp_bind(at(B, 1), Arc::default()).err();
    assert_eq!(foreign, Some(UdpError::NotOurs));
    bind(&a, A, 1);
    let taken = a.stack.udp_bind(at(A, 1), Arc::default()).err();
    assert_eq!(taken, Some(UdpError::InUse));
    a.stack.set_address(None);
    let sent = send(&mut a, &socket, Some(at(B, 7)), b"x");
    assert_eq!(sent, Err(UdpError::Unreachable));
    // At home one always is.
    assert_eq!(send(&mut a, &socket, Some(at(HOME, 7)), b"x"), Ok(1));
    a.stack.udp_close(&socket);
    let closed = send(&mut a, &socket, Some(at(HOME, 7)), b"x");
    assert_eq!(closed, Err(UdpError::Closed));
}

#[test]
fn a_full_card_makes_senders_wait() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let (one, two, server) = (bind(&a, ANY, 0), bind(&a, ANY, 0), bind(&b, ANY, 7));
    send(&mut a, &one, Some(at(B, 7)), b"").unwrap();
    settle(&mut a, &mut b, 0);
    let writable = |socket: &Sock| socket.user().writable.load(Relaxed);
    for round in 1..4 {
        a.card.room = 0;
        for socket in [&one, &two, &one] {
            let full = send(&mut a, socket, Some(at(B, 7)), b"x");
            assert_eq!(full, Err(UdpError::WouldBlock));
        }
        a.card.room = usize::MAX;
        a.stack.room(0, &mut a.card);
        a.stack.room(0, &mut a.card);
        assert_eq!((writable(&one), writable(&two)), (round, round));
        assert_eq!(send(&mut a, &one, Some(at(B, 7)), b"x"), Ok(1));
        settle(&mut a, &mut b, 0);
    }
    assert_eq!(readable(&server), 4);
}

#[test]
fn is_somebody_there() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let ping = a.stack.ping_bind(Arc::default()).unwrap();
    let data = [7; 1472];
    for (seq, to) in [(1, B), (2, B), (3, HOME), (4, A)] {
        let sent = a.stack.ping_send(&ping, to, seq, &data, 0, &mut a.card);
        sent.unwrap();
        settle(&mut a, &mut b, 0);
        let mut buffer = [0; 1472];
        let wanted = Received {
            from: at(to, seq),
            len: 1472,
            whole: 1472,
        };
        assert_eq!(ping.recv(&mut buffer), Ok(wanted));
        assert_eq!(buffer, data);
    }
    let mut sent = |data: &[u8]| a.stack.ping_send(&ping, B, 1, data, 0, &mut a.card);
    assert_eq!(sent(&[0; 1473]), Err(UdpError::TooLong));
    // Answers that nobody waits for.
    a.stack.ping_close(&ping);
    assert_eq!(sent(b""), Err(UdpError::Closed));
    assert_eq!(a.stack.stats.get(Counter::IcmpIgnored), 0);
    let ping = b.stack.ping_bind(Arc::default()).unwrap();
    b.stack.ping_send(&ping, A, 1, b"", 0, &mut b.card).unwrap();
    b.stack.ping_close(&ping);
    settle(&mut a, &mut b, 0);
    assert_eq!(b.stack.stats.get(Counter::IcmpIgnored), 1);
}

#[test]
fn answers_have_a_limit() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let ping = a.stack.ping_bind(Arc::default()).unwrap();
    let socket = bind(&a, ANY, 0);
    for i in 0..1500 {
        let sent = a.stack.ping_send(&ping, B, i, b"", 0, &mut a.card);
        sent.unwrap();
        send(&mut a, &socket, Some(at(B, 9)), b"").unwrap();
        settle(&mut a, &mut b, 0);
        let _ = ping.recv(&mut []);
    }
    assert_eq!(readable(&ping), 1000);
    assert_eq!(a.stack.stats.get(Counter::IcmpIgnored), 50);
    assert_eq!(b.stack.stats.get(Counter::IcmpLimited), 500 + 1450);
}

/// What is damaged under way is counted for what it is.
#[test]
fn what_is_wrong_is_counted() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    let (socket, server) = (bind(&a, ANY, 5), bind(&b, ANY, 7));
    send(&mut a, &socket, Some(at(B, 7)), b"data").unwrap();
    settle(&mut a, &mut b, 0);
    send(&mut a, &socket, Some(at(B, 7)), b"data").unwrap();
    let datagram = a.card.sent.pop_front().unwrap();
    let ping = a.stack.ping_bind(Arc::default()).unwrap();
    let sent = a.stack.ping_send(&ping, B, 1, b"data", 0, &mut a.card);
    sent.unwrap();
    let request = a.card.sent.pop_front().unwrap();
    let mut wrong = |frame: &[u8], at: usize, value: u8, counter| {
        let mut frame = frame.to_vec();
        frame[at] = value;
        let before = b.stack.stats.get(counter);
        b.input(&frame, 0);
        assert_eq!(b.stack.stats.get(counter), before + 1, "{counter:?}");
        b.card = Card::new();
    };
    wrong(&datagram, 38, 99, Counter::UdpMalformed);
    wrong(&datagram, 43, 9, Counter::UdpChecksum);
    wrong(&request, 43, 9, Counter::IcmpMalformed);
    wrong(&request, 34, 0xf0, Counter::IcmpMalformed);
    assert_eq!(server.recv(&mut []).unwrap().whole, 4);
    assert_eq!(server.recv(&mut []), Err(UdpError::WouldBlock));
    let full = (0..2000).find(|_| {
        b.input(&datagram, 0);
        b.stack.stats.get(Counter::UdpQueueFull) != 0
    });
    assert_eq!(full, Some(212_992 / 260));
}
