//! What does not arrive: somebody says so, or our address is ours no longer.

use super::lives::{ask, recv, send, slots};
use super::streams::connect;
use super::wire::{A, B, Host};
use super::world::World;
use crate::stack::common::SECOND_NS as SECOND;
use crate::stack::tcp::TcpError;
use crate::stack::{Address, Counter};
use smoltcp::wire::Icmpv4DstUnreachable as Code;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The last IPv4 packet that A has sent.
fn last_packet(world: &World) -> Vec<u8> {
    let sent = world.a.card.sent.iter().rev();
    let mut packets = sent.filter(|frame| frame[12..14] == [8, 0]);
    packets.next().unwrap()[14..].to_vec()
}

/// B says to A that `packet` has not arrived.
fn complain(world: &mut World, reason: Code, packet: &[u8]) {
    let (header, quote) = crate::stack::icmp::unreachable(reason, packet).unwrap();
    let mut came = header.to_vec();
    came.extend(quote);
    let head = crate::stack::ipv4::Head {
        source: B,
        dest: A,
        protocol: smoltcp::wire::IpProtocol::Icmp,
        ttl: 64,
        payload_bytes: came.len(),
    };
    let now = world.now_ns;
    let Host { stack, card } = &mut world.b;
    stack
        .net(now, card)
        .send_packet(&head, &mut |to| to.copy_from_slice(&came));
    world.run(SECOND / 10)
}

#[test]
fn who_connects_is_told_by_icmp() {
    let mut world = World::new(1);
    // Both know each other's cards.
    connect(&mut world, 0, 0);
    for (reason, why) in [
        (Code::HostUnreachable, TcpError::HostUnreachable),
        (Code::NetUnreachable, TcpError::Unreachable),
        (Code::PortUnreachable, TcpError::Refused),
    ] {
        world.faults.lost = 1000;
        let (conn, told) = ask(&mut world, "10.0.0.2:99");
        let mut syn = last_packet(&world);
        world.run(SECOND / 10);
        world.faults.lost = 0;
        // A quote of what was never sent is not believed: the sequence number is wrong.
        syn[24] ^= 1;
        complain(&mut world, reason, &syn);
        assert_eq!(conn.connected(), Err(TcpError::WouldBlock));
        syn[24] ^= 1;
        complain(&mut world, reason, &syn);
        assert_eq!((conn.connected(), told.closed.load(Relaxed)), (Err(why), 1))
    }
}

/// One that stands lives on; if nothing else comes the reason is told when it is given up. ARP has an answer all the time.
#[test]
fn who_is_connected_has_time() {
    for heard in [false, true] {
        let mut world = World::new(1);
        let (a, b) = connect(&mut world, 0, 0);
        world.faults.tcp_lost = true;
        assert_eq!(send(&mut world, &a, 10), Ok(10));
        let packet = last_packet(&world);
        world.run(SECOND);
        complain(&mut world, Code::NetUnreachable, &packet);
        assert_eq!(recv(&mut world, &a), Err(TcpError::WouldBlock));
        if heard {
            // That was nothing.
            world.faults.tcp_lost = false;
            assert_eq!(send(&mut world, &b, 1), Ok(1));
            world.run(5 * SECOND);
            assert_eq!(recv(&mut world, &a), Ok(1));
            world.faults.tcp_lost = true;
            assert_eq!(send(&mut world, &a, 10), Ok(10))
        }
        world.run(2_000 * SECOND);
        let why = match heard {
            true => TcpError::TimedOut,
            false => TcpError::Unreachable,
        };
        assert_eq!(recv(&mut world, &a), Err(why))
    }
}

/// Of one that stands, too, only what may be on its way can have got lost: who guesses is not believed.
#[test]
fn a_guess_is_not_believed() {
    let mut world = World::new(1);
    let (a, _b) = connect(&mut world, 0, 0);
    assert_eq!(send(&mut world, &a, 10), Ok(10));
    let mut packet = last_packet(&world);
    world.run(SECOND);
    let ignored = |world: &World| world.a.stack.stats.get(Counter::IcmpIgnored);
    // It has arrived, and is acknowledged.
    complain(&mut world, Code::NetUnreachable, &packet);
    assert_eq!(ignored(&world), 1);
    world.faults.tcp_lost = true;
    assert_eq!(send(&mut world, &a, 10), Ok(10));
    let seq = u32::from_be_bytes(packet[24..28].try_into().unwrap());
    for (n, (ahead, believed)) in [(9, false), (20, false), (1 << 31, false), (10, true)]
        .into_iter()
        .enumerate()
    {
        packet[24..28].copy_from_slice(&seq.wrapping_add(ahead).to_be_bytes());
        complain(&mut world, Code::NetUnreachable, &packet);
        assert_eq!(
            ignored(&world),
            2 + n as u64 - u64::from(believed),
            "{ahead}"
        )
    }
    world.run(2_000 * SECOND);
    assert_eq!(recv(&mut world, &a), Err(TcpError::Unreachable))
}

/// Another address by DHCP: who has a connection under the old one is told, and its name is free; the others stay.
#[test]
fn another_address_ends_connections() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    let now = world.now_ns;
    let Host { stack, card } = &mut world.a;
    let home = stack
        .listen("127.0.0.1:80".parse().unwrap(), 8, Arc::default())
        .unwrap();
    let ours = stack
        .connect(home.local(), Arc::default(), now, card)
        .unwrap();
    let listener = stack
        .listen("0.0.0.0:81".parse().unwrap(), 8, Arc::default())
        .unwrap();
    let asked = {
        let Host { stack, card } = &mut world.b;
        let to = "10.0.0.1:81".parse().unwrap();
        stack.connect(to, Arc::default(), now, card).unwrap()
    };
    world.run(SECOND);
    assert_eq!(asked.connected(), Ok(()));
    let address = |ip| {
        Some(Address {
            ip,
            prefix: 24,
            gateway: None,
        })
    };
    // The same once more is no change.
    let before = slots(&world);
    let Host { stack, card } = &mut world.a;
    stack.net(now, card).rename(address(A));
    assert_eq!(slots(&world), before);
    let Host { stack, card } = &mut world.a;
    stack
        .net(now, card)
        .rename(address(Ipv4Addr::new(10, 0, 0, 9)));
    stack.tick(now, card);
    assert_eq!(recv(&mut world, &a), Err(TcpError::AddrNotAvailable));
    assert_eq!(send(&mut world, &a, 1), Err(TcpError::AddrNotAvailable));
    assert_eq!(a.told.closed.load(Relaxed), 1);
    // Who waits to be accepted is accepted, and told.
    let Host { stack, card } = &mut world.a;
    let accepted = listener.accept(stack, Arc::default()).unwrap();
    assert_eq!(accepted.error(), Some(TcpError::AddrNotAvailable));
    // Both ends of the one to ourselves are left.
    assert_eq!((stack.connections(), ours.error()), (2, None));
    assert_eq!(ours.send(stack, b"home", now, card), Ok(4));
    // The other side hears nothing, and finds out by itself.
    assert_eq!(recv(&mut world, &b), Err(TcpError::WouldBlock))
}
