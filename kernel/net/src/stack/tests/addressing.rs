//! Ethernet, ARP, IPv4: who gets what, and what is dropped for which reason.

use super::wire::{A, B, Card, Host, settle};
use crate::stack::common::SECOND_NS as SECOND;
use crate::stack::ipv4::{Head, Sent};
use crate::stack::{Address, Counter, NEVER};
use smoltcp::wire::IpProtocol;
use std::net::Ipv4Addr;

/// A packet of no protocol of ours.
fn send(from: &mut Host, to: Ipv4Addr, now_ns: u64) -> Sent {
    let head = Head {
        source: A,
        dest: to,
        protocol: IpProtocol::Unknown(253),
        ttl: 64,
        payload_bytes: 4,
    };
    let mut net = from.stack.net(now_ns, &mut from.card);
    let sent = net.send_packet(&head, &mut |to| to.copy_from_slice(b"ping"));
    net.run_looped();
    sent
}

fn arrived(host: &Host) -> u64 {
    host.stack.stats.get(Counter::NoProtocol)
}

#[test]
fn neighbours_find_each_other() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    for _ in 0..3 {
        assert_eq!(send(&mut a, B, 0), Sent::Gone);
    }
    // One question for all three.
    assert_eq!(a.card.sent.len(), 1);
    assert_eq!(settle(&mut a, &mut b, 0), 2 + 3);
    assert_eq!(arrived(&b), 3);
    // It is known now, to both.
    assert_eq!(send(&mut a, B, SECOND), Sent::Gone);
    assert_eq!(send(&mut b, A, SECOND), Sent::Gone);
    assert_eq!(settle(&mut a, &mut b, SECOND), 2);
    // After a minute it is asked again, while packets go.
    assert_eq!(send(&mut a, B, 70 * SECOND), Sent::Gone);
    assert_eq!(settle(&mut a, &mut b, 70 * SECOND), 3);
    // After two minutes of silence they wait again.
    assert_eq!(send(&mut a, B, 200 * SECOND), Sent::Gone);
    assert_eq!(a.card.sent.len(), 1);
    assert_eq!(settle(&mut a, &mut b, 200 * SECOND), 3);
    assert_eq!(arrived(&b), 6);
}

/// The table is full of neighbours that packets wait for: who is asked for beyond that has no place, and one has when they are given up.
#[test]
fn more_neighbours_than_the_table_holds() {
    let mut a = Host::new(A);
    let (prefix, gateway) = (8, None);
    let address = Address {
        ip: A,
        prefix,
        gateway,
    };
    a.stack.set_address(Some(address));
    let full = |a: &Host| a.stack.stats.get(Counter::ArpTableFull);
    let mut asked = 0;
    while full(&a) == 0 && asked < 1000 {
        asked += 1;
        let to = Ipv4Addr::from(A.to_bits() + 256 + asked);
        assert_eq!(send(&mut a, to, 0), Sent::Gone);
        a.card.sent.clear()
    }
    assert_eq!((asked, full(&a)), (513, 1));
    while a.stack.next_deadline_ns() != NEVER {
        let now_ns = a.stack.next_deadline_ns();
        a.stack.tick(now_ns, &mut a.card);
        a.card.sent.clear()
    }
    assert_eq!(a.stack.stats.get(Counter::ArpNoAnswer), 512);
    assert_eq!(send(&mut a, B, 100 * SECOND), Sent::Gone);
    assert_eq!((full(&a), a.card.sent.len()), (1, 1))
}

/// What is sent to ourselves and not taken in yet has a bound.
#[test]
fn more_to_ourselves_than_the_queue_holds() {
    let mut a = Host::new(A);
    let mut net = a.stack.net(0, &mut a.card);
    let mut went = 0;
    while net.loop_back(20, &mut |_| ()) && went < 10_000 {
        went += 1
    }
    assert_eq!(went, 4096);
    assert_eq!(a.stack.stats.get(Counter::LoopedFull), 1)
}

#[test]
fn nobody_answers() {
    let mut a = Host::new(A);
    let mut questions = 0;
    for _ in 0..70 {
        assert_eq!(send(&mut a, B, 0), Sent::Gone);
    }
    while a.stack.next_deadline_ns() != NEVER {
        questions += a.card.sent.len();
        a.card.sent.clear();
        a.stack.tick(a.stack.next_deadline_ns(), &mut a.card)
    }
    assert_eq!(questions, 3);
    let get = |c| a.stack.stats.get(c);
    assert_eq!(
        (get(Counter::ArpQueueFull), get(Counter::ArpNoAnswer)),
        (6, 64)
    );
    // What is not in our network is the gateway's.
    assert_eq!(
        send(&mut a, Ipv4Addr::new(8, 8, 8, 8), 9 * SECOND),
        Sent::Gone
    );
    assert_eq!(a.card.sent[0][38..42], [10, 0, 0, 254]);
    // Everybody needs no question; nobody is where no way goes.
    a.card = Card::new();
    assert_eq!(send(&mut a, Ipv4Addr::new(10, 0, 0, 255), 0), Sent::Gone);
    assert_eq!(a.card.sent[0][..6], [0xff; 6]);
    a.stack.set_address(None);
    assert_eq!(send(&mut a, B, 0), Sent::Dropped);
    assert_eq!(a.stack.stats.get(Counter::Ipv4NoRoute), 1);
}

#[test]
fn packets_to_oneself_touch_no_card() {
    let mut a = Host::new(A);
    for to in [A, Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 9, 9, 9)] {
        assert_eq!(send(&mut a, to, 0), Sent::Gone);
    }
    assert_eq!((arrived(&a), a.card.sent.len()), (3, 0));
}

#[test]
fn a_full_card_is_counted() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    send(&mut a, B, 0);
    settle(&mut a, &mut b, 0);
    a.card.room = 0;
    assert_eq!(send(&mut a, B, 0), Sent::Dropped);
    assert_eq!(a.stack.stats.get(Counter::CardFull), 1);
}

/// Each way to be wrong has its counter, and a packet that is right has none.
#[test]
fn what_is_wrong_is_counted() {
    let (mut a, mut b) = (Host::new(A), Host::new(B));
    send(&mut a, B, 0);
    let question = a.card.sent[0].clone();
    settle(&mut a, &mut b, 0);
    send(&mut a, B, 0);
    let good = a.card.sent.pop_front().unwrap();

    let mut wrong = |change: &dyn Fn(&mut Vec<u8>), of: &[u8], counter| {
        let before: Vec<u64> = Counter::ALL.iter().map(|&c| b.stack.stats.get(c)).collect();
        let mut frame = of.to_vec();
        change(&mut frame);
        b.input(&frame, 0);
        for (&c, before) in Counter::ALL.iter().zip(before) {
            let expected = u64::from(c == counter || c == Counter::FramesIn);
            assert_eq!(
                b.stack.stats.get(c) - before,
                expected,
                "{c:?} where {counter:?} should"
            );
        }
        assert!(b.card.sent.is_empty())
    };
    /// Makes the header's sum right again.
    fn mend(f: &mut [u8]) {
        f[24..26].fill(0);
        let sum = !smoltcp::wire::checksum::data(&f[14..34]);
        f[24..26].copy_from_slice(&sum.to_be_bytes())
    }
    wrong(&|_| (), &good, Counter::NoProtocol);
    wrong(&|f| f.truncate(13), &good, Counter::FrameShort);
    wrong(&|f| f[5] = 9, &good, Counter::FrameForOther);
    wrong(&|f| f[13] = 9, &good, Counter::FrameType);
    wrong(&|f| f.truncate(33), &good, Counter::Ipv4Malformed);
    wrong(&|f| f[14] = 0x65, &good, Counter::Ipv4Malformed);
    wrong(&|f| f[14] = 0x44, &good, Counter::Ipv4Malformed);
    wrong(&|f| f[17] = 200, &good, Counter::Ipv4Malformed);
    wrong(&|f| f[22] = 9, &good, Counter::Ipv4Checksum);
    wrong(
        &|f| {
            f[20] = 0x20;
            mend(f)
        },
        &good,
        Counter::Ipv4Fragment,
    );
    wrong(
        &|f| {
            f[21] = 0x20;
            mend(f)
        },
        &good,
        Counter::Ipv4Fragment,
    );
    for source in [
        [127, 0, 0, 1],
        [224, 0, 0, 1],
        [10, 0, 0, 2],
        [10, 0, 0, 255],
    ] {
        wrong(
            &|f| {
                f[26..30].copy_from_slice(&source);
                mend(f)
            },
            &good,
            Counter::Ipv4Source,
        );
    }
    for dest in [[127, 0, 0, 1], [10, 0, 0, 3], [224, 0, 0, 1]] {
        wrong(
            &|f| {
                f[30..34].copy_from_slice(&dest);
                mend(f)
            },
            &good,
            Counter::Ipv4NotOurs,
        );
    }
    wrong(&|f| f.truncate(30), &question, Counter::ArpMalformed);
    wrong(&|f| f[22] = 1, &question, Counter::ArpMalformed);
    wrong(&|f| f[28] = 224, &question, Counter::ArpMalformed);
    wrong(&|f| f[31] = 2, &question, Counter::ArpConflict);
}
