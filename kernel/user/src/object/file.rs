//! Files that are open: how far they were read by whoever shares the handle.

use crate::files::Pieces;
use abi::Error;
use alloc::sync::Arc;
use base::{Rank, SpinLock};

/// A file that was opened.
pub struct File {
    pieces: Arc<dyn Pieces>,
    position: SpinLock<u64>,
}

impl File {
    /// A file that is read from its first byte on.
    pub fn new(pieces: Arc<dyn Pieces>) -> File {
        File {
            pieces,
            position: SpinLock::new(Rank::Channel, 0),
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.pieces.size()
    }

    /// Reads the next bytes; how many, 0 at the end. May take as long as the disk does.
    ///
    /// # Errors
    /// `Disk`: they count as read.
    pub fn read(&self, to: &mut [u8]) -> Result<usize, Error> {
        let mut position = self.position.lock();
        let begin = *position;
        let left = self.size() - begin;
        let n = left.min(to.len() as u64);
        *position += n;
        drop(position);
        self.pieces.read_at(begin, &mut to[..n as usize])?;
        Ok(n as usize)
    }
}
