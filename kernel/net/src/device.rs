//! virtio-net (virtio 1.2, 5.1): frames in, frames out, in batches.
//!
//! ```text
//!             start: reset, features, queues                 device's registers: `Transport`
//!                    │
//!       ┌────────────┴───────────┐
//!   Receiver                Transmitter
//!   all buffers are out     buffers are out while they are sent
//!   receive: frame by       send: into a free buffer
//!   frame, in place         flush: all of them, one kick
//!   refill: one kick
//! ```
//!
//! A device may have several such pairs: then what comes for a flow comes by the pair by which the flow's last frame went.
//!
//! The halves share nothing, so each can have a lock of its own. Nothing here waits: an interrupt says when to look again
//! (`listen`), and who listens is the layer above.

mod control;
mod dma;
mod error;
#[cfg(ringo_kernel)]
mod frames;
mod header;
#[cfg(ringo_kernel)]
mod pci;
mod pool;
mod receive;
#[cfg(ringo_kernel)]
mod registers;
mod start;
#[cfg(all(test, not(ringo_loom)))]
mod tests;
mod transmit;
mod transport;

pub use dma::{Memory, Row};
pub use error::Error;
#[cfg(ringo_kernel)]
pub use frames::Frames;
pub use header::Checksum;
#[cfg(ringo_kernel)]
pub use pci::{PciBell, PciTransport, find};
pub use receive::{Frame, Receiver};
pub use start::{Nic, Offers, Pair, start, start_with};
pub use transmit::Transmitter;
pub use transport::{Bell, QueueSetup, Transport};

/// Ethernet's header: nothing shorter is a frame.
pub const FRAME_LEAST: usize = 14;
/// The longest frame: Ethernet's header and 1,500 bytes.
pub const FRAME_BYTES: usize = 1514;
