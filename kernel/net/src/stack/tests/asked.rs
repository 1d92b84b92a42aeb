//! Who listens: floods, full queues, two thousand at once.

use super::streams::{End, run};
use super::wire::{A, B, Host, Told};
use super::world::{Side, World};
use crate::stack::common::SECOND_NS as SECOND;
use crate::stack::tcp::{Conn, Listener, TcpError};
use crate::stack::{Counter, NEVER};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{EthernetFrame, EthernetProtocol, IpProtocol, Ipv4Packet, Ipv4Repr};
use smoltcp::wire::{TcpControl, TcpPacket, TcpRepr, TcpSeqNumber};
use std::net::Ipv4Addr;
use std::sync::Arc;

fn listen(host: &Host, at: &str, backlog: usize) -> Result<Listener<Told>, TcpError> {
    host.stack
        .listen(at.parse().unwrap(), backlog, Arc::default())
}

fn ask(world: &mut World) -> (Conn<Told>, Arc<Told>) {
    let told = Arc::<Told>::default();
    let now = world.now_ns;
    let Host { stack, card } = &mut world.a;
    let conn = stack.connect("10.0.0.2:80".parse().unwrap(), told.clone(), now, card);
    (conn.unwrap(), told)
}

/// A frame to B's port 80.
fn frame(source: Ipv4Addr, port: u16, control: TcpControl, seq: u32, ack: Option<u32>) -> Vec<u8> {
    let repr = TcpRepr {
        src_port: port,
        dst_port: 80,
        control,
        seq_number: TcpSeqNumber(seq as i32),
        ack_number: ack.map(|n| TcpSeqNumber(n as i32)),
        window_len: 1000,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload: &[],
    };
    let ip = Ipv4Repr {
        src_addr: source,
        dst_addr: B,
        next_header: IpProtocol::Tcp,
        payload_len: repr.buffer_len(),
        hop_limit: 64,
    };
    let caps = ChecksumCapabilities::default();
    let mut bytes = vec![0; 34 + repr.buffer_len()];
    let mut ether = EthernetFrame::new_unchecked(&mut bytes[..]);
    ether.set_dst_addr(smoltcp::wire::EthernetAddress([2, 0, 0, 0, 0, 2]));
    ether.set_ethertype(EthernetProtocol::Ipv4);
    ip.emit(&mut Ipv4Packet::new_unchecked(&mut bytes[14..]), &caps);
    let mut tcp = TcpPacket::new_unchecked(&mut bytes[34..]);
    repr.emit(&mut tcp, &source.into(), &B.into(), &caps);
    bytes
}

#[test]
fn addresses_to_listen_at() {
    let host = Host::new(A);
    let any = listen(&host, "0.0.0.0:80", 1).unwrap();
    assert_eq!(any.local().port(), 80);
    for taken in ["0.0.0.0:80", "10.0.0.1:80", "127.0.0.1:80"] {
        assert_eq!(listen(&host, taken, 1).err(), Some(TcpError::AddrInUse))
    }
    let other = listen(&host, "10.0.0.9:81", 1).err();
    assert_eq!(other, Some(TcpError::AddrNotAvailable));
    // Two addresses are two places.
    let mut card = super::wire::Card::new();
    let ours = listen(&host, "10.0.0.1:81", 1).unwrap();
    let home = listen(&host, "127.0.0.1:81", 1).unwrap();
    for (at, l) in [("10.0.0.1:81", &ours), ("127.0.0.1:81", &home)] {
        let conn = host
            .stack
            .connect(at.parse().unwrap(), Arc::default(), 0, &mut card);
        let accepted = l.accept(&host.stack, Arc::default()).unwrap();
        assert_eq!(accepted.local(), conn.unwrap().remote())
    }
    // Closed, it is free.
    any.close(&host.stack, 0, &mut card);
    let ports = [0; 3].map(|_| listen(&host, "0.0.0.0:0", 1).unwrap().local().port());
    assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports.iter().all(|&p| p >= 32768));
    listen(&host, "0.0.0.0:80", 1).unwrap();
    for (to, error) in [
        ("10.0.0.2:0", TcpError::Invalid),
        ("10.0.0.255:80", TcpError::Invalid),
        ("224.0.0.1:80", TcpError::Invalid),
    ] {
        let asked = host
            .stack
            .connect(to.parse().unwrap(), Arc::default(), 0, &mut card);
        assert_eq!(asked.err(), Some(error))
    }
    host.stack.set_address(None);
    let asked = host
        .stack
        .connect("10.0.0.2:80".parse().unwrap(), Arc::default(), 0, &mut card);
    assert_eq!(asked.err(), Some(TcpError::Unreachable))
}

/// A hundred thousand SYNs that nobody confirms: no memory, and who means it gets through meanwhile.
#[test]
fn a_flood() {
    const SYNS: u32 = 100_000;
    let mut world = World::new(1);
    let listener = listen(&world.b, "0.0.0.0:80", 8).unwrap();
    let half_open = world.b.stack.config.tcp.half_open;
    let flood = |world: &mut World, n: u32| {
        for _ in 0..n {
            let from = Ipv4Addr::from_bits(0x0800_0000 | world.rng.below(1 << 24));
            let (port, seq) = (
                1 + world.rng.below(60_000) as u16,
                world.rng.next_u64() as u32,
            );
            world.now_ns += 1000;
            let (now, syn) = (world.now_ns, frame(from, port, TcpControl::Syn, seq, None));
            world.b.input(&syn, now);
            // The same from nowhere, as an answer to a cookie that was never given.
            if seq % 16 == 0 {
                let guess = frame(from, port ^ 1, TcpControl::None, seq, Some(seq));
                world.b.input(&guess, now)
            }
        }
    };
    flood(&mut world, SYNS);
    let stats = |world: &World, c| world.b.stack.stats.get(c);
    assert_eq!(world.b.stack.connections(), half_open);
    assert!(
        world.b.stack.timers.len() < 2 * half_open,
        "{}",
        world.b.stack.timers.len()
    );
    assert_eq!(
        stats(&world, Counter::CookieOut),
        u64::from(SYNS) - half_open as u64
    );
    assert!(stats(&world, Counter::TcpResetOut) > 1000);
    // One that means it.
    let (conn, told) = ask(&mut world);
    let until = world.now_ns + SECOND / 2;
    while conn.connected().is_err() {
        flood(&mut world, 100);
        assert!(world.step(until), "no connection")
    }
    let a = End::new(Side::A, conn, told, 1, 50_000, 2);
    world.run(SECOND / 10);
    let told = Arc::<Told>::default();
    let conn = listener.accept(&world.b.stack, told.clone()).unwrap();
    let b = End::new(Side::B, conn, told, 2, 50_000, 1);
    let mut ends = [a, b];
    run(&mut world, &mut ends);
    assert_eq!(
        ends.each_ref().map(|e| (e.received, e.error)),
        [(50_000, None); 2]
    );
    for end in ends {
        let (now, Host { stack, card }) = (world.now_ns, world.host(end.side));
        end.conn.close(stack, now, card)
    }
    // And those who do not are forgotten.
    world.run(120 * SECOND);
    assert_eq!(world.b.stack.connections(), 0);
    assert!(stats(&world, Counter::HalfTimedOut) >= half_open as u64);
    assert_eq!(world.b.stack.next_deadline_ns(), NEVER)
}

/// More than the queue has room for: those who find it full wait, and are not refused.
#[test]
fn a_full_queue_refuses_nobody() {
    let mut world = World::new(1);
    let listener = listen(&world.b, "0.0.0.0:80", 4).unwrap();
    let mut asked: Vec<_> = (0..20).map(|_| ask(&mut world)).collect();
    world.run(SECOND / 2);
    let b = &world.b.stack.stats;
    assert!(b.get(Counter::AcceptQueueFull) > 0);
    asked.push(ask(&mut world));
    world.run(SECOND / 10);
    assert!(world.b.stack.stats.get(Counter::ListenQueueFull) > 0);
    let mut ends = Vec::new();
    let mut patience = 0;
    while ends.len() < 21 {
        let mut told = Arc::<Told>::default();
        while let Some(conn) = listener.accept(&world.b.stack, told.clone()) {
            ends.push(End::new(Side::B, conn, told, 2, 100, 1));
            told = Arc::default()
        }
        world.run(SECOND / 2);
        patience += 1;
        assert!(patience < 100, "{} accepted", ends.len())
    }
    let asked = asked.into_iter();
    ends.extend(asked.map(|(conn, told)| End::new(Side::A, conn, told, 1, 100, 2)));
    run(&mut world, &mut ends);
    assert!(ends.iter().all(|e| e.received == 100 && e.error.is_none()));
    assert_eq!(world.resets, 0)
}

/// Who listens no longer throws away what nobody has accepted.
#[test]
fn closed_with_some_in_the_queue() {
    let mut world = World::new(1);
    let listener = listen(&world.b, "0.0.0.0:80", 4).unwrap();
    let (conn, _) = ask(&mut world);
    world.run(SECOND);
    assert_eq!(conn.connected(), Ok(()));
    let (late, _) = ask(&mut world);
    // SYN and SYN|ACK have gone, the ACK has not come.
    world.step(NEVER - 1);
    let now = world.now_ns;
    listener.close(&world.b.stack, now, &mut world.b.card);
    world.run(SECOND);
    assert_eq!(conn.connected(), Err(TcpError::Reset));
    assert!(
        matches!(late.connected(), Err(TcpError::Reset | TcpError::Refused))
            || late.connected().is_ok()
    );
    assert_eq!(world.b.stack.connections(), 0)
}

#[test]
fn half_open_and_reset_or_overtaken() {
    let mut world = World::new(1);
    let listener = listen(&world.b, "0.0.0.0:80", 4).unwrap();
    let get = |world: &World, c| world.b.stack.stats.get(c);
    let (port, seq) = (1000, 77);
    let put = |world: &mut World, control, seq, ack| {
        let (now, frame) = (world.now_ns, frame(A, port, control, seq, ack));
        world.b.input(&frame, now)
    };
    put(&mut world, TcpControl::Syn, seq, None);
    put(&mut world, TcpControl::Rst, seq + 2, None); // not its number
    assert_eq!(world.b.stack.connections(), 1);
    put(&mut world, TcpControl::Rst, seq + 1, None);
    assert_eq!(
        (world.b.stack.connections(), get(&world, Counter::HalfReset)),
        (0, 1)
    );
    put(&mut world, TcpControl::Syn, seq, None);
    let ours = world.b.stack.tcp.half_number(port).unwrap();
    put(&mut world, TcpControl::Psh, seq + 11, Some(ours + 1));
    assert_eq!(get(&world, Counter::HalfEarly), 1);
    put(&mut world, TcpControl::None, seq + 1, Some(ours + 2));
    assert_eq!(get(&world, Counter::TcpResetOut), 1);
    assert!(listener.accept(&world.b.stack, Arc::default()).is_none());
    put(&mut world, TcpControl::None, seq + 1, Some(ours + 1));
    assert!(listener.accept(&world.b.stack, Arc::default()).is_some())
}

#[test]
fn two_thousand_at_once() {
    let host = |ip| Host::with(ip, |c| (c.tcp.recv_bytes, c.tcp.send_bytes) = (1000, 1000));
    let mut world = World::of(host(A), host(B), 1);
    let listener = listen(&world.b, "0.0.0.0:80", 128).unwrap();
    let mut ends: Vec<End> = (0..2000)
        .map(|_| {
            let (conn, told) = ask(&mut world);
            End::new(Side::A, conn, told, 1, 10, 2)
        })
        .collect();
    let mut accepted = 0;
    while accepted < 2000 {
        let until = world.now_ns + 100 * SECOND;
        assert!(world.step(until), "{accepted} accepted");
        let told = Arc::<Told>::default();
        if let Some(conn) = listener.accept(&world.b.stack, told.clone()) {
            accepted += 1;
            ends.push(End::new(Side::B, conn, told, 2, 10, 1))
        }
        assert!(world.now_ns < 300 * SECOND)
    }
    run(&mut world, &mut ends);
    let b = &world.b.stack.stats;
    println!(
        "{} ms, {} cookies",
        world.now_ns / 1_000_000,
        b.get(Counter::CookieOut)
    );
    assert!(ends.iter().all(|e| e.received == 10 && e.error.is_none()));
    assert_eq!(world.resets, 0)
}
