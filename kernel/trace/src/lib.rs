//! What the kernel did, and a way to disturb it.
//!
//! * [`emit`] writes one event of 16 bytes into the ring of its CPU. Off at start; while off it costs one load.
//! * [`point!`] marks a place where a race could lie. A test arms it by name and so delays or preempts exactly there.
//!
//! * [`glass`] is where the runner, which sees the machine's memory, finds all that.
//!
//! All use `core`'s atomics in model builds too: they are no part of what the models check, and must add no steps to it.
//! Go: `runtime/trace.go`, `GODEBUG`; there is no counterpart to the fault points.
#![cfg_attr(ringo_kernel, no_std)]

extern crate alloc;

mod event;
pub mod glass;
pub mod points;
mod ring;
mod rings;

pub use event::{ARG_MAX, Event, Kind, SEQS};
pub use ring::Layout as RingLayout;
pub use rings::{
    AlreadyThere, Last, emit, init, is_on, last, record, recorded, set_on, table_address,
};
