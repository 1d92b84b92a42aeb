//! Wires that lose, double, damage and reorder; windows that are small or shut; cards that are full. Each byte arrives, once, in order.

use super::streams::{End, connect, run};
use super::wire::{A, B, Host};
use super::world::{Faults, World};
use crate::stack::Counter;

const MS: u64 = 1_000_000;

fn check(ends: &[End]) {
    for (i, e) in ends.iter().enumerate() {
        let all = (e.sent, e.received, e.error);
        assert_eq!(all, (e.total, ends[i ^ 1].total, None), "{:?}", e.side)
    }
}

fn both(world: &mut World, from_a: u64, from_b: u64) {
    let (a, b) = connect(world, from_a, from_b);
    let mut ends = [a, b];
    run(world, &mut ends);
    check(&ends)
}

fn dropped(world: &World, what: Counter) -> u64 {
    world.a.stack.stats.get(what) + world.b.stack.stats.get(what)
}

#[test]
fn each_byte_arrives_over_a_bad_wire() {
    let mut corrupted = 0;
    for seed in 0..12 {
        let mut world = World::new(seed);
        world.faults = match seed % 4 {
            0 => Faults {
                lost: 50,
                ..Faults::default()
            },
            1 => Faults {
                doubled: 200,
                jitter_ns: 5 * MS,
                ..Faults::default()
            },
            2 => Faults {
                corrupted: 50,
                ..Faults::default()
            },
            _ => Faults {
                lost: 30,
                doubled: 50,
                corrupted: 30,
                jitter_ns: MS,
                ..Faults::default()
            },
        };
        both(&mut world, 60_000, 40_000);
        corrupted += dropped(&world, Counter::TcpChecksum);
        assert_eq!(world.resets, 0, "seed {seed}");
        println!(
            "seed {seed}: {} frames, {} ms",
            world.frames,
            world.now_ns / MS
        );
    }
    assert!(corrupted > 0)
}

/// Half of all frames.
#[test]
fn a_very_bad_wire() {
    let mut world = World::new(77);
    world.faults.lost = 300;
    world.faults.doubled = 300;
    world.faults.jitter_ns = 50 * MS;
    both(&mut world, 5_000, 5_000)
}

#[test]
fn windows_of_all_sizes() {
    for (bytes, total) in [
        (1, 300),
        (2, 300),
        (100, 5_000),
        (536, 20_000),
        (70_000, 300_000),
        (1 << 20, 3_000_000),
    ] {
        let host = |ip| {
            Host::with(ip, |c| {
                (c.tcp.recv_bytes, c.tcp.send_bytes) = (bytes, bytes.max(16))
            })
        };
        let mut world = World::of(host(A), host(B), 5);
        let before = world.now_ns;
        both(&mut world, total, total / 3);
        println!(
            "{bytes} bytes: {} frames, {} ms",
            world.frames,
            (world.now_ns - before) / MS
        );
        assert_eq!(dropped(&world, Counter::TcpTimedOut), 0)
    }
}

/// Frames in the air at once are more than a window without scaling allows.
#[test]
fn a_scaled_window_is_used() {
    let mut flights = [0; 2];
    for (flight, bytes) in flights.iter_mut().zip([60_000, 600_000]) {
        let host = |ip| {
            Host::with(ip, |c| {
                (c.tcp.recv_bytes, c.tcp.send_bytes) = (bytes, bytes)
            })
        };
        let mut world = World::of(host(A), host(B), 5);
        world.delay_ns = 10 * MS;
        let before = world.now_ns;
        both(&mut world, 4_000_000, 0);
        *flight = (world.now_ns - before) / MS
    }
    println!("{flights:?} ms");
    assert!(flights[1] * 3 < flights[0])
}

/// One that takes a sip now and then shuts its window again and again; updates that are lost are asked for.
#[test]
fn a_slow_reader() {
    for lost in [0, 100] {
        let mut world = World::new(9);
        let (a, mut b) = connect(&mut world, 100_000, 0);
        world.faults.lost = lost;
        b.sip = 700;
        let mut ends = [a, b];
        let [a, b] = &mut ends;
        let mut shut = 0;
        while !b.is_done() {
            let until = world.now_ns + 20 * MS;
            while world.step(until) {
                let now = world.now_ns;
                a.go(&mut world.a, now);
            }
            let now = world.now_ns;
            a.go(&mut world.a, now);
            let before = b.received;
            b.go(&mut world.b, now);
            // Full: nothing more can be on its way.
            shut += u64::from(b.received > before && a.sent - b.received > 30_000);
            assert!(now < 1_000_000 * MS, "{} of {}", b.received, a.total)
        }
        assert!(shut > 10, "{shut}");
        run(&mut world, &mut ends);
        check(&ends)
    }
}

/// A card that takes few frames: what does not fit waits, and nothing is lost.
#[test]
fn a_full_card() {
    let mut world = World::new(3);
    world.a.card.room = 2;
    world.b.card.room = 1;
    let (a, b) = connect(&mut world, 200_000, 100_000);
    let mut ends = [a, b];
    let mut starved = 0;
    while !ends.iter().all(End::is_done) {
        let now = world.now_ns;
        for end in &mut ends {
            let side = end.side;
            end.go(world.host(side), now);
        }
        starved += u64::from(world.a.stack.is_starving() || world.b.stack.is_starving());
        let moved = world.step(now + 3_600_000 * MS);
        let now = world.now_ns;
        for host in [&mut world.a, &mut world.b] {
            host.stack.room(now, &mut host.card)
        }
        assert!(moved, "they stand still")
    }
    check(&ends);
    assert!(starved > 50, "{starved}");
    assert!(!world.a.stack.is_starving() && !world.b.stack.is_starving());
    // Not even slowly: who was stopped by the card went on when there was room, and not by a timer.
    assert!(world.now_ns < 3_000 * MS, "{} ms", world.now_ns / MS)
}

/// A card that finishes checksums.
#[test]
fn checksums_by_the_card() {
    let mut world = World::of(Host::with(A, |c| c.offload = true), Host::new(B), 4);
    both(&mut world, 50_000, 50_000);
    assert_eq!(dropped(&world, Counter::TcpChecksum), 0)
}

/// Frames of ping-pong with and without delayed acknowledgements: two a round instead of four.
#[test]
fn acknowledgements_ride_on_answers() {
    const ROUNDS: u64 = 200;
    let mut frames = [0; 2];
    for (i, delay) in [0, 10 * MS].into_iter().enumerate() {
        let host = |ip| Host::with(ip, |c| c.tcp.ack_delay_ns = delay);
        let mut world = World::of(host(A), host(B), 6);
        let (a, b) = connect(&mut world, 0, 0);
        let before = world.frames;
        for round in 0..ROUNDS {
            for (from, to) in [(&a, &b), (&b, &a)] {
                let now = world.now_ns;
                let host = world.host(from.side);
                let sent = from
                    .conn
                    .send(&host.stack, &[round as u8], now, &mut host.card);
                assert_eq!(sent, Ok(1));
                let mut got = [0; 8];
                loop {
                    let now = world.now_ns;
                    let host = world.host(to.side);
                    if to.conn.recv(&host.stack, &mut got, now, &mut host.card) == Ok(1) {
                        break;
                    }
                    assert!(world.step(now + 1000 * MS))
                }
            }
        }
        frames[i] = world.frames - before
    }
    println!("{frames:?} frames for {ROUNDS} rounds");
    assert!(
        frames[0] >= 4 * ROUNDS - 4 && frames[1] <= 2 * ROUNDS + 4,
        "{frames:?}"
    )
}

/// Room for one frame is offered to those who may use it, not to all who wait.
#[test]
fn room_for_one() {
    let mut world = World::new(1);
    let _ends = connect(&mut world, 0, 0);
    world.run(MS);
    world.a.card.room = 0;
    let now = world.now_ns;
    let Host { stack, card } = &mut world.a;
    // The neighbour is known, so that each SYN finds the card full.
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            stack
                .connect(
                    "10.0.0.2:80".parse().unwrap(),
                    Default::default(),
                    now,
                    card,
                )
                .unwrap()
        })
        .collect();
    let tried = card.tried;
    card.room = 1;
    stack.room(now, card);
    let tries = card.tried - tried;
    assert!(
        tries <= 5,
        "{tries} tries for one frame of {}",
        waiting.len()
    )
}
