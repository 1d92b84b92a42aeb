//! Memory that processes share: frames that stay for as long as anybody has a handle to it, or has it mapped.

use crate::account::Charge;
use crate::memory::Owner;
use abi::{Error, PAGE_BYTES};
use alloc::vec::Vec;

/// Where frames come from.
#[derive(Clone, Copy)]
pub struct Frames {
    /// A frame full of zeroes; its physical address.
    pub alloc_zeroed: fn() -> Option<u64>,
    /// Takes it back: nobody uses it any more, and no CPU remembers it.
    pub free: fn(u64),
}

/// Memory to share.
pub struct Shm {
    owner: Owner,
    frames: Vec<u64>,
    source: Frames,
    _charge: Charge,
}

impl Shm {
    /// Zeroed memory of `charge`'s bytes, whole pages.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(charge: Charge, source: Frames) -> Result<Shm, Error> {
        let pages = (charge.bytes() / PAGE_BYTES) as usize;
        let mut shm = Shm {
            owner: Owner::new(),
            frames: Vec::new(),
            source,
            _charge: charge,
        };
        let frames = &mut shm.frames;
        frames
            .try_reserve_exact(pages)
            .map_err(|_| Error::OutOfMemory)?;
        for _ in 0..pages {
            // What there is already goes with `shm`.
            frames.push((source.alloc_zeroed)().ok_or(Error::OutOfMemory)?)
        }
        Ok(shm)
    }

    /// Its frames, in order: physical addresses.
    pub fn frames(&self) -> &[u64] {
        &self.frames
    }

    /// What words in it are known by.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.frames.len() as u64 * PAGE_BYTES
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.frames
            .iter()
            .for_each(|&frame| (self.source.free)(frame))
    }
}
