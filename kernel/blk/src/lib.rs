//! The disk: a virtio block device that is polled. A read occupies its CPU until the data is there; that is what it is
//! for, since hand-off of Ps needs something that really blocks.
//!
//! | part | where | what |
//! |---|---|---|
//! | [`Disk`] | both | requests: start, poll, finish, several at once |
//! | [`Error`] | both | what can go wrong, in words |
//! | `open`, `dma`, `settled` | bare machine | the first disk on PCI; memory that it shares with the device; a device whose registers stay |
//!
//! The queue, the device's start and the PCI transport are `virtio-drivers`'. Nothing here knows the scheduler: whoever
//! reads passes in what is to happen around the wait ([`Blocking`]), and sees to it that no more than [`REQUESTS`] come
//! at once.
#![cfg_attr(ringo_kernel, no_std)]

mod disk;
#[cfg(ringo_kernel)]
mod dma;
mod error;
#[cfg(ringo_kernel)]
mod open;
#[cfg(any(ringo_kernel, test))]
mod settled;

#[cfg(all(test, not(ringo_kernel), not(ringo_loom)))]
mod fake;
#[cfg(all(test, not(ringo_kernel), not(ringo_loom)))]
mod tests;

pub use disk::{Blocking, Disk, REQUESTS, Requests, SECTOR_BYTES};
pub use error::Error;
#[cfg(ringo_kernel)]
pub use open::{PciDisk, open};
