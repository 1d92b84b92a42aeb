//! Files that are open: their bytes, and how far they were read by whoever shares the handle.

use crate::files::Bytes;
use base::{Rank, SpinLock};

/// A file that was opened.
pub struct File {
    bytes: Bytes,
    position: SpinLock<usize>,
}

impl File {
    /// A file that is read from its first byte on.
    pub fn new(bytes: Bytes) -> File {
        File {
            bytes,
            position: SpinLock::new(Rank::Channel, 0),
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        (*self.bytes).as_ref().len() as u64
    }

    /// The next bytes, at most `most` of them: they are read. None at the end.
    pub fn next(&self, most: usize) -> &[u8] {
        let bytes = (*self.bytes).as_ref();
        let mut position = self.position.lock();
        let begin = *position;
        *position += most.min(bytes.len() - begin);
        &bytes[begin..*position]
    }
}
