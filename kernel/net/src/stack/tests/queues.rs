//! By which of the card's queues a connection's frames go (I-ORDER).

use super::lives::{ask, recv, send};
use super::streams::{End, connect};
use super::world::World;
use crate::stack::common::SECOND_NS as SECOND;

/// The queues by which went what `end` sends from CPU `near`; nothing is delivered meanwhile.
fn by(world: &mut World, end: &End, near: u16) -> Vec<u16> {
    world.a.card.near = near;
    world.a.card.by.clear();
    assert_eq!(send(world, end, 1000), Ok(1000));
    core::mem::take(&mut world.a.card.by)
}

/// Frames of which one may be on its way do not go by two queues, wherever the sender runs meanwhile; then the sender's is taken.
#[test]
fn frames_under_way_share_a_queue() {
    let mut world = World::new(1);
    let (a, b) = connect(&mut world, 0, 0);
    world.run(SECOND);
    assert_eq!(by(&mut world, &a, 3), [3]);
    assert_eq!(by(&mut world, &a, 1), [3], "the first are under way");
    world.run(SECOND);
    assert_eq!(by(&mut world, &a, 1), [1], "all have arrived");
    // Acknowledgements let more go, which belong behind what is under way.
    assert!(send(&mut world, &a, 60_000).unwrap() > 10_000);
    world.a.card.near = 2;
    world.a.card.by.clear();
    world.run(SECOND);
    let more = core::mem::take(&mut world.a.card.by);
    assert!(more.len() > 5 && more.iter().all(|&q| q == 1), "{more:?}");
    while recv(&mut world, &b).is_ok_and(|n| n > 0) {
        world.run(SECOND)
    }
    // Two connections have nothing to do with each other.
    let (c, _d) = connect(&mut world, 0, 0);
    world.run(SECOND);
    assert_eq!(by(&mut world, &a, 2), [2]);
    assert_eq!(by(&mut world, &c, 0), [0]);
    assert_eq!(by(&mut world, &a, 0), [2])
}

/// What waits until it is known where a neighbour lives goes by its connection's queue then, not by that of who heard the answer.
#[test]
fn waiting_for_a_neighbour_keeps_the_queue() {
    let mut world = World::new(1);
    world.a.card.near = 3;
    let _asks = ask(&mut world, "10.0.0.2:80");
    assert_eq!(world.a.card.by, [3], "the question where it lives");
    world.a.card.near = 1;
    world.run(SECOND);
    assert_eq!(world.a.card.by[..2], [3, 3], "and the SYN")
}

/// What belongs to no connection goes by the queue of who sends it.
#[test]
fn others_go_by_the_nearest() {
    let mut world = World::new(1);
    world.b.card.near = 4;
    let _asks = ask(&mut world, "10.0.0.2:99");
    world.run(SECOND);
    assert_eq!(
        world.b.card.by,
        [4, 4],
        "where it lives, and that nobody listens"
    )
}
