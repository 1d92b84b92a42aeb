//! The end of a program: what it has written arrives.

use super::lives::{recv, send};
use super::streams::connect;
use super::wire::Host;
use super::wire::Told;
use super::world::{Faults, World};
use crate::stack::common::SECOND_NS as SECOND;
use crate::stack::tcp::{Ending, TcpError};

fn end(world: &mut World) -> Ending<Told> {
    let now = world.now_ns;
    let Host { stack, card } = &mut world.a;
    stack.end(now, card)
}

/// All that was written before, and the end; nothing that is written after it.
#[test]
fn arrives() {
    let mut world = World::new(1);
    world.faults = Faults {
        lost: 100,
        ..Faults::default()
    };
    let (a, b) = connect(&mut world, 0, 0);
    // Somebody has sent something that nobody will receive: no reset for that.
    assert_eq!(send(&mut world, &b, 10), Ok(10));
    world.run(SECOND);
    assert_eq!(send(&mut world, &a, 5000), Ok(5000));
    let mut ending = end(&mut world);
    assert!(!ending.is_done());
    assert_eq!(send(&mut world, &a, 1), Err(TcpError::WouldBlock));
    let until = world.now_ns + 60 * SECOND;
    while !ending.is_done() {
        assert!(world.step(until), "it waits for ever")
    }
    let mut got = 0;
    loop {
        match recv(&mut world, &b) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((got, world.resets), (5000, 0))
}

/// Nothing was written, or the connection is one to ourselves, or it is dead: nothing to wait for once the FIN is there.
#[test]
fn does_not_wait() {
    let mut world = World::new(1);
    assert!(end(&mut world).is_done());
    let mut world = World::new(1);
    let (a, _b) = connect(&mut world, 0, 0);
    let now = world.now_ns;
    let Host { stack, card } = &mut world.a;
    a.conn.abort(stack, now, card);
    assert!(end(&mut world).is_done());
    let Host { stack, card } = &mut world.b;
    let listener = stack
        .listen("127.0.0.1:80".parse().unwrap(), 8, Default::default())
        .unwrap();
    let ours = stack
        .connect(listener.local(), Default::default(), now, card)
        .unwrap();
    assert_eq!(ours.connected(), Ok(()));
    // Nobody receives it.
    while ours.send(stack, &[7; 5000], now, card).is_ok() {}
    world.run(SECOND);
    let Host { stack, card } = &mut world.b;
    assert!(stack.end(world.now_ns, card).is_done())
}
