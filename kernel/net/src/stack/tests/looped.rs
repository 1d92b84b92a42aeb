//! What is sent to ourselves is taken in by and by, whoever calls.

use super::wire::{A, Card, Host, Told};
use crate::stack::ipv4::Head;
use crate::stack::looped::BATCH;
use crate::stack::{Counter, Net};
use smoltcp::wire::IpProtocol;

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
    let mut host = Host::new(A);
    let listener = host
        .stack
        .listen("127.0.0.1:80".parse().unwrap(), 4096, Default::default())
        .unwrap();
    let conns: Vec<_> = (0..600)
        .map(|_| {
            let to = listener.local();
            let Host { stack, card } = &mut host;
            let conn = stack.connect(to, Default::default(), 0, card).unwrap();
            while stack.has_more(0) {
                stack.tick(0, card)
            }
            conn
        })
        .collect();
    let Host { stack, card } = &mut host;
    for conn in &conns {
        conn.shutdown_write(stack, 0, card).unwrap()
    }
    let later = 3_600_000_000_000;
    stack.tick(later, card);
    assert!(stack.has_more(later));
    let mut ticks = 1;
    while stack.has_more(later) {
        stack.tick(later, card);
        ticks += 1;
        assert!(ticks < 1_000, "it has more for ever")
    }
    assert!(ticks > 2, "{ticks}")
}
