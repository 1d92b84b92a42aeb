//! As many connections as there may be, and one more; ended ones that leave a record.

use super::lives::{ask, mend, recv, send, slots};
use super::streams::connect;
use super::wire::{A, B, Host, Told};
use super::world::World;
use crate::stack::Counter;
use crate::stack::common::SECOND_NS as SECOND;
use crate::stack::tcp::{Conn, Listener, TcpError};
use std::sync::Arc;

fn world(of_a: usize, of_b: usize) -> World {
    let host = |ip, most| Host::with(ip, |c| c.tcp.connections = most);
    World::of(host(A, of_a), host(B, of_b), 1)
}

fn listen(world: &World) -> Listener<Told> {
    let at = "0.0.0.0:80".parse().unwrap();
    world.b.stack.listen(at, 8, Arc::default()).unwrap()
}

fn stand(conns: &[Conn<Told>]) -> usize {
    conns.iter().filter(|c| c.connected() == Ok(())).count()
}

fn close(world: &mut World, conn: Conn<Told>) {
    let Host { stack, card } = &mut world.a;
    conn.close(stack, world.now_ns, card)
}

/// Who is beyond is not answered, not refused either, and has a place when another has left.
#[test]
fn a_syn_beyond_is_dropped() {
    let mut world = world(100, 3);
    let listener = listen(&world);
    let mut conns = Vec::new();
    for _ in 0..5 {
        conns.push(ask(&mut world, "10.0.0.2:80").0);
        world.run(SECOND / 10)
    }
    world.run(20 * SECOND);
    assert_eq!((stand(&conns), world.resets), (3, 0));
    let places = world.b.stack.places();
    assert_eq!((places.taken, places.most), (3, 3));
    assert!(places.turned_away > 2, "{places:?}");
    let (late, _) = ask(&mut world, "10.0.0.2:80");
    world.run(20 * SECOND);
    assert_eq!(late.connected(), Err(TcpError::WouldBlock));
    // One goes, on both sides.
    let first = conns.iter().position(|c| c.connected() == Ok(()));
    let gone = conns.swap_remove(first.unwrap());
    let at = gone.local();
    close(&mut world, gone);
    while let Some(theirs) = listener.accept(&world.b.stack, Arc::default()) {
        if theirs.remote() == at {
            let Host { stack, card } = &mut world.b;
            theirs.close(stack, world.now_ns, card);
            break;
        }
        conns.push(theirs)
    }
    world.run(60 * SECOND);
    conns.push(late);
    assert_eq!(world.b.stack.places().taken, 3);
    // Three at this end: those that stood, less one, and one of those that waited.
    let ours = |c: &&Conn<Told>| c.remote().port() == 80 && c.connected() == Ok(());
    assert_eq!(conns.iter().filter(ours).count(), 3)
}

/// A half-open one that finds no place when it is confirmed gets one later: its ACK is lost, so to speak.
#[test]
fn an_ack_beyond_is_dropped() {
    let mut world = world(100, 1);
    let listener = listen(&world);
    let conns: Vec<_> = (0..2).map(|_| ask(&mut world, "10.0.0.2:80").0).collect();
    world.run(SECOND / 2);
    assert_eq!(world.b.stack.places().taken, 1);
    let theirs = listener.accept(&world.b.stack, Arc::default()).unwrap();
    let Host { stack, card } = &mut world.b;
    theirs.abort(stack, world.now_ns, card);
    world.run(30 * SECOND);
    let theirs = listener.accept(&world.b.stack, Arc::default()).unwrap();
    let now = world.now_ns;
    let Host { stack, card } = &mut world.b;
    assert_eq!(theirs.send(stack, b"late", now, card), Ok(4));
    world.run(SECOND);
    let got = conns.iter().filter(|conn| {
        let Host { stack, card } = &mut world.a;
        conn.recv(stack, &mut [0; 8], now, card) == Ok(4)
    });
    assert_eq!(got.count(), 1)
}

#[test]
fn who_asks_is_told() {
    let mut world = world(2, 100);
    let _listener = listen(&world);
    let mut conns: Vec<_> = (0..2).map(|_| ask(&mut world, "10.0.0.2:80").0).collect();
    world.run(SECOND);
    let to = "10.0.0.2:80".parse().unwrap();
    let (now, before) = (world.now_ns, world.a.stack.connections());
    let Host { stack, card } = &mut world.a;
    let third = stack.connect(to, Arc::default(), now, card);
    assert_eq!(third.err(), Some(TcpError::NoRoom));
    // Its name is free again.
    assert_eq!(stack.connections(), before);
    // One that is reset leaves nothing, and one that holds it still holds its place.
    let held = conns.pop().unwrap();
    let Host { stack, card } = &mut world.a;
    conns.pop().unwrap().abort(stack, now, card);
    assert_eq!(stack.places().taken, 1);
    assert!(stack.connect(to, Arc::default(), now, card).is_ok());
    drop(held)
}

/// Who has closed keeps no buffers for another side that does not close; what that says is answered as before.
#[test]
fn closed_on_one_side_is_a_record() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    close(&mut world, a.conn);
    world.run(SECOND);
    let memory = |w: &World| (w.a.stack.places().taken, w.a.stack.remembered_connections());
    assert_eq!(memory(&world), (0, 1));
    // Their end comes late, and is acknowledged: time-wait.
    let now = world.now_ns;
    let Host { stack, card } = &mut world.b;
    b.conn.close(stack, now, card);
    world.run(SECOND);
    assert_eq!((slots(&world), world.resets), ([1, 0], 0));
    world.run(70 * SECOND);
    assert_eq!(slots(&world), [0, 0])
}

#[test]
fn bytes_for_who_has_closed_are_answered_by_rst() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    close(&mut world, a.conn);
    world.run(SECOND);
    assert_eq!(recv(&mut world, &b), Ok(0));
    assert_eq!(send(&mut world, &b, 10), Ok(10));
    world.run(SECOND);
    assert_eq!(recv(&mut world, &b), Err(TcpError::Reset));
    assert_eq!(world.a.stack.stats.get(Counter::TcpUnreceived), 1);
    assert_eq!(slots(&world), [0, 0])
}

/// It is not waited for for ever.
#[test]
fn who_never_closes_is_forgotten() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    close(&mut world, a.conn);
    world.run(59 * SECOND);
    assert_eq!(slots(&world), [1, 1]);
    world.run(2 * SECOND);
    assert_eq!(slots(&world), [0, 1]);
    // And an end that is lost meanwhile comes again.
    assert_eq!(send(&mut world, &b, 1), Ok(1));
    world.run(SECOND);
    assert_eq!(recv(&mut world, &b), Err(TcpError::Reset))
}

/// Who guesses a number of a record's does not end the connection.
#[test]
fn a_guess_does_not_end_who_has_closed() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    let window = world.a.stack.config.tcp.recv_bytes as u32;
    close(&mut world, a.conn);
    world.run(SECOND);
    assert_eq!(recv(&mut world, &b), Ok(0));
    assert_eq!(send(&mut world, &b, 10), Ok(10));
    let real = world.b.card.sent.pop_front().unwrap();
    let seq = u32::from_be_bytes(real[38..42].try_into().unwrap());
    let mut answer = |ahead, flags| {
        let mut guess = real.clone();
        guess[38..42].copy_from_slice(&seq.wrapping_add(ahead).to_be_bytes());
        guess[47] = flags;
        mend(&mut guess);
        let now = world.now_ns;
        world.a.input(&guess, now);
        world.a.card.sent.pop_front().map(|frame| frame[47])
    };
    let [syn, rst, ack] = [2, 4, 16];
    for ahead in [window, 1 << 30, (1 << 31) - 20, 1 << 31] {
        assert_eq!(answer(ahead, ack), Some(ack), "{ahead}")
    }
    assert_eq!(answer(1, syn), Some(ack));
    assert_eq!(answer(1, rst), None);
    assert_eq!(answer(window - 1, ack), Some(rst | ack));
    assert_eq!(slots(&world), [0, 1])
}

/// A SYN for which there is no place leaves the record of its tuple's last connection as it is.
#[test]
fn no_new_life_without_a_place() {
    for places in [1, 2] {
        let mut world = world(100, places);
        let listener = listen(&world);
        let (conn, _) = ask(&mut world, "10.0.0.2:80");
        let port = conn.local().port();
        world.run(SECOND);
        let theirs = listener.accept(&world.b.stack, Arc::default()).unwrap();
        let now = world.now_ns;
        theirs.close(&world.b.stack, now, &mut world.b.card);
        world.run(SECOND);
        close(&mut world, conn);
        world.run(SECOND);
        let _takes_one = ask(&mut world, "10.0.0.2:80");
        world.run(SECOND);
        let (_again, _) = ask(&mut world, "10.0.0.2:80");
        let mut syn = world.a.card.sent.pop_front().unwrap();
        let old = world.b.stack.tcp.remembered(port).unwrap();
        syn[34..36].copy_from_slice(&port.to_be_bytes());
        syn[38..42].copy_from_slice(&old.wrapping_add(100_000).to_be_bytes());
        mend(&mut syn);
        let now = world.now_ns;
        world.b.input(&syn, now);
        let stack = &world.b.stack;
        let half = stack.tcp.half_number(port).is_some();
        assert_eq!(
            (half, stack.remembered_connections()),
            match places {
                1 => (false, 1),
                _ => (true, 0),
            }
        );
        assert_eq!(world.b.card.sent.len(), usize::from(half))
    }
}
