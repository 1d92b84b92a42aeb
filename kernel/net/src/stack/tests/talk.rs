//! A connection's life.

use super::streams::{connect, run};
use super::world::World;
use crate::stack::common::SECOND_NS as SECOND;

#[test]
fn a_conversation() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 100_000, 200_000);
    assert_eq!(a.conn.remote(), b.conn.local());
    assert_eq!(b.conn.remote(), a.conn.local());
    let mut ends = [a, b];
    run(&mut world, &mut ends);
    assert_eq!(
        ends.each_ref().map(|e| (e.received, e.error)),
        [(200_000, None), (100_000, None)]
    );
    world.run(2 * SECOND);
    println!("{} frames", world.frames);
    let slots = |w: &World| [&w.a, &w.b].map(|h| h.stack.connections());
    // One of them remembers, for a minute.
    assert_eq!(slots(&world).iter().sum::<usize>(), 1);
    world.run(70 * SECOND);
    assert_eq!(slots(&world), [0, 0]);
    assert_eq!(world.resets, 0);
    for host in [&world.a, &world.b] {
        assert_eq!(host.stack.next_deadline_ns(), crate::stack::NEVER)
    }
}
