//! How connections end, and what is left of them.

use super::streams::{End, connect, run};
use super::wire::{Host, Told};
use super::world::{Side, World};
use crate::stack::Counter;
use crate::stack::common::SECOND_NS as SECOND;
use crate::stack::tcp::{Conn, TcpError};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const MS: u64 = 1_000_000;

pub(super) fn slots(world: &World) -> [usize; 2] {
    [&world.a, &world.b].map(|h| h.stack.connections())
}

pub(super) fn ask(world: &mut World, to: &str) -> (Conn<Told>, Arc<Told>) {
    let told = Arc::<Told>::default();
    let now = world.now_ns;
    let Host { stack, card } = &mut world.a;
    let conn = stack
        .connect(to.parse().unwrap(), told.clone(), now, card)
        .unwrap();
    (conn, told)
}

pub(super) fn close(world: &mut World, end: End) {
    let now = world.now_ns;
    let Host { stack, card } = world.host(end.side);
    end.conn.close(stack, now, card)
}

pub(super) fn recv(world: &mut World, end: &End) -> Result<usize, TcpError> {
    let now = world.now_ns;
    let Host { stack, card } = world.host(end.side);
    end.conn.recv(stack, &mut [0; 100], now, card)
}

pub(super) fn send(world: &mut World, end: &End, bytes: usize) -> Result<usize, TcpError> {
    let now = world.now_ns;
    let Host { stack, card } = world.host(end.side);
    end.conn.send(stack, &vec![7; bytes], now, card)
}

/// One half is shut; the other goes on for as long as it likes.
#[test]
fn half_closed() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    let now = world.now_ns;
    a.conn
        .shutdown_write(&world.a.stack, now, &mut world.a.card)
        .unwrap();
    world.run(SECOND);
    assert_eq!(recv(&mut world, &b), Ok(0));
    assert_eq!(send(&mut world, &a, 1), Err(TcpError::BrokenPipe));
    for _ in 0..3 {
        assert_eq!(recv(&mut world, &a), Err(TcpError::WouldBlock));
        assert_eq!(send(&mut world, &b, 10), Ok(10));
        world.run(600 * SECOND);
        assert_eq!(recv(&mut world, &a), Ok(10))
    }
    close(&mut world, b);
    world.run(SECOND);
    assert_eq!(recv(&mut world, &a), Ok(0));
    // Who closed first remembers.
    assert_eq!(slots(&world), [1, 0]);
    close(&mut world, a);
    world.run(70 * SECOND);
    assert_eq!((slots(&world), world.resets), ([0, 0], 0))
}

#[test]
fn both_close_at_once() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    close(&mut world, a);
    close(&mut world, b);
    world.run(SECOND);
    assert_eq!(slots(&world), [1, 1]);
    world.run(70 * SECOND);
    assert_eq!((slots(&world), world.resets), ([0, 0], 0))
}

#[test]
fn nobody_listens() {
    let mut world = World::new(1);
    let (conn, told) = ask(&mut world, "10.0.0.2:81");
    assert_eq!(conn.connected(), Err(TcpError::WouldBlock));
    world.run(SECOND);
    assert_eq!(conn.connected(), Err(TcpError::Refused));
    assert!(told.closed.load(Relaxed) == 1 && world.resets == 1);
    assert_eq!(slots(&world), [0, 0]);
    // To oneself as well.
    let (conn, _) = ask(&mut world, "127.0.0.1:81");
    assert_eq!(conn.connected(), Err(TcpError::Refused))
}

/// Closed with something that nobody has received: the other side learns that it was in vain.
#[test]
fn closed_unread() {
    for late in [false, true] {
        let mut world = World::new(1);
        let (a, b) = connect(&mut world, 0, 0);
        if late {
            close(&mut world, b);
            assert_eq!(send(&mut world, &a, 10), Ok(10));
            world.run(SECOND)
        } else {
            assert_eq!(send(&mut world, &a, 10), Ok(10));
            world.run(SECOND);
            close(&mut world, b);
            world.run(SECOND)
        }
        assert_eq!(recv(&mut world, &a), Err(TcpError::Reset));
        assert_eq!(send(&mut world, &a, 1), Err(TcpError::Reset));
        assert_eq!(slots(&world), [0, 0]);
        let unreceived = world.b.stack.stats.get(Counter::TcpUnreceived);
        assert_eq!(
            (unreceived, world.a.stack.stats.get(Counter::TcpResetIn)),
            (u64::from(late), 1)
        )
    }
}

/// What came before a reset is received, then the reset.
#[test]
fn reset_with_something_to_receive() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    assert_eq!(send(&mut world, &b, 60), Ok(60));
    world.run(SECOND);
    let now = world.now_ns;
    b.conn.abort(&world.b.stack, now, &mut world.b.card);
    world.run(SECOND);
    assert_eq!(recv(&mut world, &a), Ok(60));
    assert_eq!(recv(&mut world, &a), Err(TcpError::Reset))
}

/// Bytes that were sent arrive although their sender has closed, and however slow the receiver is.
#[test]
fn closed_with_something_to_send() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    let all = send(&mut world, &a, 16 << 10).unwrap();
    close(&mut world, a);
    let mut received = 0;
    loop {
        world.run(SECOND);
        match recv(&mut world, &b) {
            Ok(0) => break,
            Ok(n) => received += n,
            Err(e) => panic!("{e}"),
        }
    }
    assert_eq!((all, received, world.resets), (16 << 10, 16 << 10, 0));
    // That took longer than who has closed is kept.
    assert_eq!(slots(&world), [0, 1]);
    close(&mut world, b);
    world.run(100 * SECOND);
    assert_eq!(slots(&world), [0, 0])
}

/// Closed, and the other side does nothing more: it is not kept for ever.
#[test]
fn closed_and_forgotten() {
    for full in [false, true] {
        let mut world = World::new(1);
        let (a, b) = connect(&mut world, 0, 0);
        if full {
            // More than the other side, which receives nothing, has room for.
            while send(&mut world, &a, 5000) != Err(TcpError::WouldBlock) {
                world.run(10 * MS)
            }
        }
        close(&mut world, a);
        world.run(50 * SECOND);
        assert_eq!(slots(&world), [1, 1]);
        world.run(50 * SECOND);
        assert_eq!(slots(&world)[0], 0);
        drop(b)
    }
}

/// Receiving was shut: what comes disappears, and the window stays open.
#[test]
fn nothing_more_to_read() {
    let mut world = World::new(1);
    let (mut a, b) = connect(&mut world, 200_000, 0);
    let now = world.now_ns;
    b.conn.shutdown_read(&world.b.stack, now, &mut world.b.card);
    assert_eq!(recv(&mut world, &b), Ok(0));
    while !a.shut {
        let now = world.now_ns;
        a.go(&mut world.a, now);
        assert!(world.step(now + SECOND))
    }
    assert_eq!(recv(&mut world, &b), Ok(0));
    assert_eq!((a.sent, a.error), (200_000, None))
}

/// The last segments of a life come again, and an old RST: who remembers answers the FIN, and heeds no RST.
#[test]
fn what_is_remembered() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    let remote = a.conn.remote();
    let from_b = |world: &World, last: bool| {
        let sent = world.b.card.sent.iter();
        let frame = if last {
            sent.last()
        } else {
            sent.into_iter().next()
        };
        frame.unwrap().clone()
    };
    close(&mut world, a);
    world.run(SECOND);
    let now = world.now_ns;
    b.conn.close(&world.b.stack, now, &mut world.b.card);
    let fin = from_b(&world, true);
    world.run(SECOND);
    assert_eq!(slots(&world), [1, 0]);
    world.run(30 * SECOND);
    let now = world.now_ns;
    world.a.input(&fin, now);
    assert_eq!(world.a.card.sent.len(), 1, "it is acknowledged again");
    world.a.card.sent.clear();
    let mut rst = fin.clone();
    rst[47] = 0x14; // RST, ACK
    mend(&mut rst);
    world.a.input(&rst, now);
    assert_eq!((world.a.card.sent.len(), slots(&world)), (0, [1, 0]));
    // The FIN has begun the wait anew.
    world.run(50 * SECOND);
    assert_eq!(slots(&world), [1, 0]);
    world.run(20 * SECOND);
    assert_eq!(slots(&world), [0, 0]);
    // Now it is nobody's.
    let now = world.now_ns;
    world.a.input(&fin, now);
    assert_eq!(world.a.stack.stats.get(Counter::TcpNobody), 1);
    assert_eq!(remote.port(), 80)
}

/// Makes TCP's sum right again.
pub(super) fn mend(frame: &mut [u8]) {
    use smoltcp::wire::{Ipv4Packet, TcpPacket};
    let ip = Ipv4Packet::new_unchecked(&frame[14..]);
    let (source, dest) = (ip.src_addr().into(), ip.dst_addr().into());
    TcpPacket::new_unchecked(&mut frame[34..]).fill_checksum(&source, &dest)
}

/// The same 4-tuple again, while the server still remembers its last life.
#[test]
fn a_new_life_before_the_old_is_forgotten() {
    let mut world = World::new(1);
    let listener = world
        .b
        .stack
        .listen("0.0.0.0:80".parse().unwrap(), 8, Arc::default())
        .unwrap();
    let (conn, _) = ask(&mut world, "10.0.0.2:80");
    let local = conn.local();
    world.run(SECOND);
    let b = listener.accept(&world.b.stack, Arc::default()).unwrap();
    let now = world.now_ns;
    b.close(&world.b.stack, now, &mut world.b.card);
    world.run(SECOND);
    conn.close(&world.a.stack, now, &mut world.a.card);
    world.run(SECOND);
    assert_eq!(slots(&world), [0, 1]);
    // A takes another port each time; its SYN is made to come from the old one.
    let (again, _) = ask(&mut world, "10.0.0.2:80");
    let mut syn = world.a.card.sent.pop_front().unwrap();
    syn[34..36].copy_from_slice(&local.port().to_be_bytes());
    // A number that lies before the old life's is an old SYN.
    for (seq, is_new) in [(-100_000i32, false), (100_000, true)] {
        let old = u32::from_be_bytes(world_seq(&world, local.port()).to_be_bytes());
        syn[38..42].copy_from_slice(&old.wrapping_add_signed(seq).to_be_bytes());
        mend(&mut syn);
        let now = world.now_ns;
        world.b.input(&syn, now);
        let answer = world.b.card.sent.pop_front().unwrap();
        assert_eq!(answer[47], if is_new { 0x12 } else { 0x10 }, "{answer:?}")
    }
    drop(again)
}

/// What B remembers to have received from A's port.
fn world_seq(world: &World, port: u16) -> u32 {
    world.b.stack.tcp.remembered(port).unwrap()
}

/// Everything over the loop, to both of its names.
#[test]
fn to_oneself() {
    for to in ["127.0.0.1:80", "10.0.0.1:80", "0.0.0.0:80"] {
        let mut world = World::new(1);
        let told = Arc::<Told>::default();
        let listener = world
            .a
            .stack
            .listen("0.0.0.0:80".parse().unwrap(), 8, told.clone())
            .unwrap();
        assert!(listener.accept(&world.a.stack, Arc::default()).is_none());
        let (conn, user) = ask(&mut world, to);
        assert_eq!((conn.connected(), user.writable.load(Relaxed)), (Ok(()), 1));
        assert_eq!(told.readable.load(Relaxed), 1);
        let a = End::new(Side::A, conn, user, 1, 100_000, 2);
        let user = Arc::<Told>::default();
        let conn = listener.accept(&world.a.stack, user.clone()).unwrap();
        assert_eq!(a.conn.local().ip(), conn.remote().ip());
        let b = End::new(Side::A, conn, user, 2, 100_000, 1);
        let mut ends = [a, b];
        run(&mut world, &mut ends);
        assert_eq!(
            ends.each_ref().map(|e| (e.received, e.error)),
            [(100_000, None); 2]
        );
        assert_eq!(world.frames, 0)
    }
}
