//! Go's own policy (proc.go: `newproc`, `ready`, `goschedImpl`, `goyield_m`, `gopreempt_m`, `randomOrder`, `retake`).

use super::{Event, Place, Running, Victims};

/// New and woken Gs run next, where their data is warm; who yields or used up its slice goes behind everybody.
#[inline]
pub fn place(event: Event) -> Place {
    match event {
        Event::New | Event::Ready | Event::Stopped => Place::RunNext,
        Event::YieldedLocally => Place::LocalTail,
        Event::Woken => Place::Woken,
        Event::GaveWay => Place::BehindWoken,
        Event::Yielded | Event::Preempted => Place::GlobalTail,
    }
}

/// A random P first, and then a random step that visits all.
pub fn victims(coprimes: &[u32], n: u32, _: u32, seed: u32) -> Victims {
    Victims {
        first: seed % n,
        step: coprimes[(seed / n) as usize % coprimes.len()],
    }
}

/// Who has had its slice gives way, whether or not somebody waits.
pub fn preempt(running: Running) -> bool {
    running.had_slice
}
