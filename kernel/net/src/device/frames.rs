//! This machine's memory, for devices: they see physical memory as it is.

use super::{Memory, Row};
use core::ptr::NonNull;
use mem::frames;

/// Page frames.
pub struct Frames;

// SAFETY: frames are page-aligned and nobody else's, zeroed, never freed; the direct map has all of them.
unsafe impl Memory for Frames {
    fn row(pages: usize) -> Option<Row> {
        let (phys, at) = frames::alloc_zeroed_row(pages as u64)?;
        let at = NonNull::new(at)?;
        Some(Row { phys, at })
    }
}
