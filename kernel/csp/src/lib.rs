//! What goroutines say to each other: channels, `sync`, join handles, time, contexts.
//!
//! Everything here waits by parking the calling G ([`sched::gopark`]); the CPU goes on with another G. A waiting G is
//! described by a `Waiter` (`waitq.rs`) that lies on its own stack (Go: `sudog`). Who waits and who wakes is model-checked from
//! this very source: `tests/loom/`, each `mutant` being a bug that a model must find.
#![cfg_attr(ringo_kernel, no_std)]
// Models (`tests/loom/`) use what waits, not all that is built on it.
#![cfg_attr(ringo_loom, allow(dead_code))]

extern crate alloc;

pub mod chan;
pub mod context;
mod frames;
pub mod join;
pub mod scope;
mod select_macro;
pub mod sync;
pub mod synctest;
pub mod time;
#[cfg(doctest)]
mod unwritable;
#[doc(hidden)]
pub mod waitq;

pub use chan::{Receiver, SendError, Sender, TryRecvError, TrySendError, chan, never};
pub use join::{JoinHandle, go, goexit, spawn};
pub use scope::{Scope, scope};
