//! Go's own policy (proc.go: `newproc`, `ready`, `goschedImpl`, `goyield_m`, `gopreempt_m`).

use super::{Event, Place};

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
