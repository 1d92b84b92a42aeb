//! Last come, first served: the newest work is the warmest. All Ps share one stack, the head of the global queue. What
//! lies deep in it waits for as long as newer work comes: that is what this policy is there to show.

use super::{Event, Place, Running, Victims};

/// New and woken Gs before all others; who had its turn behind all others.
#[inline]
pub fn place(event: Event) -> Place {
    match event {
        Event::New | Event::Ready | Event::Woken => Place::GlobalHead,
        Event::Stopped => Place::RunNext,
        Event::YieldedLocally | Event::GaveWay => Place::LocalTail,
        Event::Yielded | Event::Preempted => Place::GlobalTail,
    }
}

/// The neighbour on the other side than with `fifo` first.
pub fn victims(_: &[u32], n: u32, own: u32, _: u32) -> Victims {
    Victims {
        first: (own + n - 1) % n,
        step: n - 1,
    }
}

/// As Go: who has had its slice gives way.
pub fn preempt(running: Running) -> bool {
    running.had_slice
}
