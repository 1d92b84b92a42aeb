//! What every layer of the kernel stands on: atomics that loom and shuttle can replace, guards that prove a state, ranked locks,
//! random numbers, the configuration.
#![cfg_attr(ringo_kernel, no_std)]

pub mod config;
#[cfg(ringo_loom)]
mod explore;
pub mod guard;
pub mod lock;
#[cfg(any(ringo_loom, ringo_shuttle))]
mod model_lock;
pub mod mutant;
pub mod place;
pub mod rng;
pub mod shim;

#[cfg(ringo_loom)]
pub use explore::explore;
pub use guard::{IrqGuard, PreemptGuard};
#[cfg(not(ringo_loom))]
pub use lock::preempt_at_unlock;
pub use lock::{LockWaits, Rank, SpinGuard, SpinLock, lock_waits};
pub use rng::Rng;
