//! Ends that say nothing: when that is noticed, and when it is nobody's fault.

use super::lives::{ask, recv, send, slots};
use super::streams::{connect, run};
use super::wire::{A, B, Host};
use super::world::World;
use crate::stack::common::SECOND_NS as SECOND;
use crate::stack::tcp::TcpError;
use crate::stack::{Counter, NEVER};
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn nobody_is_there() {
    let mut world = World::new(1);
    let (conn, told) = ask(&mut world, "10.0.0.77:80");
    // ARP asks thrice.
    world.run(4 * SECOND);
    assert_eq!(conn.connected(), Err(TcpError::HostUnreachable));
    let now = world.now_ns;
    let received = conn.recv(&world.a.stack, &mut [0], now, &mut world.a.card);
    assert_eq!(received, Err(TcpError::HostUnreachable));
    assert_eq!((told.closed.load(Relaxed), slots(&world)), (1, [0, 0]));
    assert!(world.a.stack.stats.get(Counter::ArpNoAnswer) > 0 && world.resets == 0);
    // Reminders that nobody needs any more pass.
    world.run(200 * SECOND);
    assert_eq!(world.a.stack.next_deadline_ns(), NEVER)
}

/// One that is there, and says nothing.
#[test]
fn nobody_says_anything() {
    let a = Host::with(A, |c| c.tcp.connect_ns = 30 * SECOND);
    let mut world = World::of(a, Host::new(B), 1);
    let (a, _b) = connect(&mut world, 0, 0);
    let now = world.now_ns;
    a.conn.abort(&world.a.stack, now, &mut world.a.card);
    world.run(SECOND);
    let (conn, told) = ask(&mut world, "10.0.0.2:81");
    world.faults.lost = 1000;
    world.run(29 * SECOND);
    assert_eq!(conn.connected(), Err(TcpError::WouldBlock));
    world.run(2 * SECOND);
    assert_eq!(conn.connected(), Err(TcpError::TimedOut));
    assert_eq!(told.closed.load(Relaxed), 1);
    assert_eq!(world.a.stack.stats.get(Counter::TcpTimedOut), 1);
    assert_eq!(
        (slots(&world), world.a.stack.next_deadline_ns()),
        ([0, 0], NEVER)
    )
}

#[test]
fn a_silent_end_is_noticed_when_it_is_asked() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    let now = world.now_ns;
    a.conn
        .set_keepalive(&world.a.stack, Some(15 * SECOND), now, &mut world.a.card);
    let before = world.frames;
    world.run(150 * SECOND);
    // Ten questions and answers, and one at once.
    let asked = world.frames - before;
    assert!((20..=24).contains(&asked), "{asked}");
    assert_eq!(recv(&mut world, &a), Err(TcpError::WouldBlock));
    world.faults.lost = 1000;
    world.run(135 * SECOND);
    assert_eq!(a.conn.error(), None);
    world.run(30 * SECOND);
    // By now it does not answer to ARP either.
    assert_eq!(recv(&mut world, &a), Err(TcpError::HostUnreachable));
    assert_eq!(a.told.closed.load(Relaxed), 1);
    // The other side has not asked, and does not know.
    assert_eq!(recv(&mut world, &b), Err(TcpError::WouldBlock));
    // When it says something it learns.
    world.faults.lost = 0;
    assert_eq!(send(&mut world, &b, 1), Ok(1));
    world.run(SECOND);
    assert_eq!(recv(&mut world, &b), Err(TcpError::Reset))
}

/// Days of silence are nobody's fault.
#[test]
fn idle_connections_live() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 10, 10);
    let frames = world.frames;
    world.run(1_000_000 * SECOND);
    assert_eq!(world.frames, frames);
    let mut ends = [a, b];
    run(&mut world, &mut ends);
    assert_eq!(
        ends.each_ref().map(|e| (e.received, e.error)),
        [(10, None); 2]
    )
}

/// Data that nobody acknowledges for a quarter of an hour.
#[test]
fn an_end_that_is_gone() {
    let mut world = World::new(1);
    let (a, _b) = connect(&mut world, 0, 0);
    world.faults.lost = 1000;
    assert_eq!(send(&mut world, &a, 10), Ok(10));
    let before = world.frames;
    world.run(899 * SECOND);
    assert_eq!(a.conn.error(), None);
    world.run(60 * SECOND);
    assert_eq!(recv(&mut world, &a), Err(TcpError::HostUnreachable));
    // It was sent again with ever longer pauses, not a thousand times; ARP asks thrice for each.
    let again = world.frames - before;
    assert!((10..80).contains(&again), "{again}")
}
