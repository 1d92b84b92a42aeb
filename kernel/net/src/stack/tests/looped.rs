//! What is sent to ourselves is taken in by and by, whoever calls.

use super::wire::{A, B, Card, Host, Told};
use crate::stack::ipv4::Head;
use crate::stack::looped::BATCH;
use crate::stack::tcp::Tuple;
use crate::stack::timers::Target;
use crate::stack::{Counter, DUE_AT_ONCE, Net};
use smoltcp::wire::IpProtocol;
use std::net::SocketAddrV4;

/// Packets to ourselves of a protocol that nobody knows.
fn fill(net: &mut Net<'_, Told>, packets: usize) {
    for _ in 0..packets {
        let head = Head {
            source: A,
            dest: A,
            protocol: IpProtocol::Unknown(200),
            ttl: 64,
            payload_bytes: 20,
        };
        net.send_packet(&head, &mut |to| to.fill(7));
    }
}

#[test]
fn a_call_takes_a_batch_and_says_that_there_is_more() {
    let host = Host::new(A);
    let (stack, mut card) = (&host.stack, Card::new());
    let taken = || stack.stats.get(Counter::NoProtocol) as usize;
    fill(&mut stack.net(0, &mut card), 10 * BATCH + 1);
    for batch in 1..=10 {
        stack.tick(0, &mut card);
        assert_eq!((taken(), stack.has_more(0)), (batch * BATCH, true))
    }
    stack.tick(0, &mut card);
    assert_eq!((taken(), stack.has_more(0)), (10 * BATCH + 1, false));
    // A frame from the card is nobody else's business.
    fill(&mut stack.net(0, &mut card), 1);
    stack.input(&[0; 60], false, 0, &mut card);
    assert_eq!(taken(), 10 * BATCH + 1)
}

/// Many deadlines at once are not one call's either.
#[test]
fn a_tick_serves_some_deadlines() {
    let host = Host::new(A);
    let (stack, mut card) = (&host.stack, Card::new());
    let all = 3 * DUE_AT_ONCE + 1;
    for i in 0..all as u64 {
        // Those of connections that have left ask for no other.
        let local = SocketAddrV4::new(A, 80);
        let remote = SocketAddrV4::new(B, i as u16);
        stack
            .timers
            .remind(i, Target::Conn(Tuple { local, remote }))
    }
    let now = all as u64;
    for tick in 1..=3 {
        stack.tick(now, &mut card);
        let left = all - tick * DUE_AT_ONCE;
        assert_eq!((stack.timers.len(), stack.has_more(now)), (left, true))
    }
    stack.tick(now, &mut card);
    assert_eq!((stack.timers.len(), stack.has_more(now)), (0, false))
}
