//! Ten thousand connections, and what one costs among them.

use super::wire::{A, B, Host, Told, settle};
use crate::stack::Stack;
use crate::stack::tcp::Conn;
use base::Rng;
use std::sync::Arc;
use std::time::Instant;

/// Both ends of a connection.
type Pair = (Conn<Told>, Conn<Told>);

/// Two hosts with `n` connections between them.
fn connected(n: usize) -> (Host, Host, Vec<Pair>) {
    let host = |ip| Host::with(ip, |c| (c.tcp.recv_bytes, c.tcp.send_bytes) = (512, 512));
    let (mut a, mut b) = (host(A), host(B));
    let listener = b
        .stack
        .listen("0.0.0.0:80".parse().unwrap(), 8, Arc::default())
        .unwrap();
    let pairs = (0..n)
        .map(|_| {
            let to = "10.0.0.2:80".parse().unwrap();
            let ours = a.stack.connect(to, Arc::default(), 0, &mut a.card).unwrap();
            settle(&mut a, &mut b, 0);
            let theirs = listener.accept(&b.stack, Arc::default()).unwrap();
            assert_eq!((ours.connected(), ours.local()), (Ok(()), theirs.remote()));
            (ours, theirs)
        })
        .collect();
    (a, b, pairs)
}

/// A byte there and back; all that it brings about.
fn round(a: &mut Host, b: &mut Host, pair: &Pair, byte: u8, now_ns: u64) {
    let (ours, theirs) = pair;
    let mut got = [0; 2];
    assert_eq!(ours.send(&a.stack, &[byte], now_ns, &mut a.card), Ok(1));
    settle(a, b, now_ns);
    assert_eq!(theirs.recv(&b.stack, &mut got, now_ns, &mut b.card), Ok(1));
    assert_eq!(theirs.send(&b.stack, &got[..1], now_ns, &mut b.card), Ok(1));
    settle(a, b, now_ns);
    assert_eq!(ours.recv(&a.stack, &mut got, now_ns, &mut a.card), Ok(1));
    assert_eq!(got[0], byte)
}

#[test]
fn a_round_costs_the_same_among_ten_thousand() {
    let costs = [10, 1_000, 10_000].map(|n| {
        let (mut a, mut b, pairs) = connected(n);
        let mut rng = Rng::new(n as u64);
        let mut now_ns = 0;
        // The least of many that are shorter than a slice: others use this computer too.
        let batches = (0..60).map(|_| {
            let start = Instant::now();
            for _ in 0..200 {
                now_ns += 1_000;
                let pair = &pairs[rng.below(n as u32) as usize];
                round(&mut a, &mut b, pair, now_ns as u8, now_ns)
            }
            start.elapsed().as_nanos() as u64 / 200
        });
        let least = batches.min().unwrap();
        // All of them are alive.
        for (i, pair) in pairs.iter().enumerate() {
            round(&mut a, &mut b, pair, i as u8, now_ns)
        }
        assert_eq!((a.stack.connections(), b.stack.connections()), (n, n));
        least
    });
    println!("a byte there and back at 10, 1,000, 10,000 connections: {costs:?} ns");
    assert!(costs[2] <= 6 * costs[0], "{costs:?}")
}

/// No two connections share a port.
#[test]
fn ports_do_not_repeat() {
    let (_a, _b, pairs) = connected(3000);
    let mut ports: Vec<u16> = pairs.iter().map(|(ours, _)| ours.local().port()).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 3000)
}

#[test]
fn all_cpus_may_share_it() {
    fn shared<T: Send + Sync>() {}
    shared::<Stack<Told>>()
}

/// Threads on one stack: each asks, accepts whom it finds, and checks what that one says.
#[test]
fn several_cpus_at_once() {
    const EACH: u64 = 200;
    let host = Host::new(A);
    let stack = &host.stack;
    let begin = Instant::now();
    let now = || begin.elapsed().as_nanos() as u64;
    let listener = stack
        .listen("127.0.0.1:80".parse().unwrap(), 64, Arc::default())
        .unwrap();
    std::thread::scope(|s| {
        for thread in 0..3u64 {
            let listener = &listener;
            s.spawn(move || {
                let card = &mut super::wire::Card::new();
                for i in 0..EACH {
                    let to = listener.local();
                    let conn = stack.connect(to, Arc::default(), now(), card).unwrap();
                    let spin = |card: &mut super::wire::Card| {
                        stack.tick(now(), card);
                        assert!(now() < 300_000_000_000, "{thread} waits for ever at {i}");
                        std::thread::yield_now()
                    };
                    let accepted = loop {
                        match listener.accept(stack, Arc::default()) {
                            Some(conn) => break conn,
                            None => spin(card),
                        }
                    };
                    let says = vec![(thread * EACH + i) as u8; 1000];
                    let mut said = 0;
                    while said < says.len() {
                        match conn.send(stack, &says[said..], now(), card) {
                            Ok(n) => said += n,
                            Err(_) => spin(card),
                        }
                    }
                    conn.shutdown_write(stack, now(), card).unwrap();
                    let (mut heard, mut buffer) = (Vec::new(), [0; 700]);
                    loop {
                        match accepted.recv(stack, &mut buffer, now(), card) {
                            Ok(0) => break,
                            Ok(n) => heard.extend_from_slice(&buffer[..n]),
                            Err(crate::stack::tcp::TcpError::WouldBlock) => spin(card),
                            Err(e) => panic!("{e}"),
                        }
                    }
                    assert_eq!(heard.len(), 1000);
                    assert!(heard.iter().all(|&b| b == heard[0]));
                    accepted.close(stack, now(), card);
                    conn.close(stack, now(), card)
                }
            });
        }
    });
    let mut card = super::wire::Card::new();
    listener.close(stack, now(), &mut card);
    let later = now() + 1_000_000_000_000;
    while stack.has_more(later) {
        stack.tick(later, &mut card)
    }
    assert_eq!((stack.connections(), card.sent.len()), (0, 0))
}
