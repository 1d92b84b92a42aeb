//! Memory: page frames, the heap, stacks of Gs.
//!
//! | part | where | what |
//! |---|---|---|
//! | [`pool`] | both | free page frames as a list that lies in the frames themselves |
//! | `frames` | bare machine | the one pool of this machine, behind its lock |
//! | [`epochs`] | both | which CPUs may still remember a page that was unmapped |
//! | `flush` | bare machine | the flush points of this machine, and the quarantine |
//! | [`class`], [`slab`], [`cache`] | both | size classes, the pages of one class, one CPU's objects of it |
//! | `descs` | bare machine | what slabs know of their pages |
//! | `heap` | bare machine | the global allocator: slabs up to half a page, a frame up to a page, `large` above |
//! | [`runs`] | both | places of objects above a page |
//! | [`slots`] | both | stack slots on their way back |
//! | [`gstack`] | both | slots of address space that Gs run on |
//!
//! On the host machine the heap is the host's own and the OS backs stacks, so only `gstack` is in use there; the parts
//! that hold bookkeeping are built and tested there all the same.
#![cfg_attr(ringo_kernel, no_std)]

pub mod cache;
pub mod class;
#[cfg(ringo_kernel)]
mod descs;
pub mod epochs;
#[cfg_attr(not(ringo_kernel), path = "flush_host.rs")]
pub mod flush;
#[cfg(ringo_kernel)]
pub mod frames;
pub mod gstack;
#[cfg(ringo_kernel)]
pub mod heap;
#[cfg(ringo_kernel)]
mod large;
#[cfg(ringo_kernel)]
pub mod mark;
pub mod pool;
pub mod runs;
pub mod slab;
pub mod slots;

/// Bytes of a page, and of a page frame.
pub const PAGE_BYTES: usize = 4096;

/// Nothing left of what was asked for: page frames, address space, or the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

impl core::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("out of memory")
    }
}

impl core::error::Error for OutOfMemory {}
