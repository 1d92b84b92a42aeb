//! First come, first served: no `runnext`, and nobody is put before anybody else on a P.

use super::{Event, Place, Running, Victims};

/// To the end of this P's ring, whatever made it runnable.
#[inline]
pub fn place(event: Event) -> Place {
    match event {
        Event::New | Event::Ready | Event::Woken => Place::LocalTail,
        Event::YieldedLocally | Event::Stopped | Event::GaveWay => Place::LocalTail,
        Event::Yielded | Event::Preempted => Place::LocalTail,
    }
}

/// The neighbour first, then its neighbour, and so on.
pub fn victims(_: &[u32], n: u32, own: u32, _: u32) -> Victims {
    Victims {
        first: (own + 1) % n,
        step: 1,
    }
}

/// Who has had its slice gives way only if somebody waits for it.
pub fn preempt(running: Running) -> bool {
    running.had_slice && running.others_wait
}
