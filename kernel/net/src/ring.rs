//! A split virtqueue (virtio 1.2, 2.7): two rings in shared memory, one in each direction, and a table of buffers.
//!
//! ```text
//!                  add, publish              kick, if the device wants to be told
//!   driver  ── available ring: heads of chains ──────────────────────────────────► device
//!      ▲                          │
//!      │                  descriptor table: address, length, who writes, next
//!      │                          │
//!      └───────── used ring: head, bytes written ─────────────────────────────────── device
//!                  pop                      interrupt, if the driver wants to be told
//! ```
//!
//! **I-DEKKER** Who gives something publishes its index, then looks whether the other side wants to be told; who is about to
//! rest says that it wants to be told, then looks at the index once more. A full fence stands between the two steps on both
//! sides, so one of them sees the other: no kick and no interrupt is lost.
//!
//! **I-LATE** QEMU leaves fences out of what it translates for a machine of one CPU (`arch::bare::fence_devices`), and its devices run
//! beside that CPU: there `publish` may miss a wish to be told. So who is about to look no more for a while asks once more, after a
//! fence that holds there too ([`Queue::wants_late_kick`]), and rests by such a fence ([`Queue::interrupts_on`]). The netpoller does,
//! on each visit; who only sends, and lets the machine rest with nobody waiting for the network, is made up for by I-WATCH (`socket/card.rs`).
//!
//! **I-OUT** A descriptor is on the free list, or part of exactly one chain that is out. What the device says is checked
//! against that: a head that it does not have, more bytes than the chain has room for, an index that runs ahead break the ring
//! ([`Broken`]) and nothing else.

mod area;
mod event;
#[cfg(any(test, ringo_loom))]
pub mod fake;
mod queue;
#[cfg(all(test, not(ringo_loom)))]
mod tests;

pub use area::Area;
pub use event::need_event;
pub use queue::{Broken, Buffer, Full, Queue, Used};
