//! What processes need of the machine: page frames, page tables, the registers of a thread in ring 3.
//!
//! On the bare machine these are `arch`'s and `mem`'s (`machine/bare.rs`). The host machine runs no ring 3; there a model stands in
//! (`machine/model.rs`): page tables that are a map, and threads that run a handful of instructions of their own. So all that is
//! kept about processes is tested there.

#[cfg(ringo_kernel)]
#[path = "machine/bare.rs"]
mod imp;
#[cfg(not(ringo_kernel))]
#[path = "machine/model.rs"]
mod imp;

pub use imp::*;

use crate::object::shm::Frames;

/// Bytes of a page, and of a page frame.
pub const PAGE: u64 = abi::PAGE_BYTES;

/// Frames for memory that processes share.
pub const SHARED: Frames = Frames {
    alloc_zeroed: || {
        let frame = alloc_frame()?;
        // SAFETY: just allocated, and a page long.
        unsafe { frame_bytes(frame).write_bytes(0, PAGE as usize) };
        Some(frame)
    },
    // SAFETY: who shares it holds it until it is out of his tables, and forgotten.
    free: |frame| unsafe { free_frame(frame) },
};
