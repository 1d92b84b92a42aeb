//! Memory that the device sees.

use super::Error;
use crate::ring::{Area, Buffer};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::NonNull;
use mem::PAGE_BYTES;

/// Room for a header and the longest frame: half a page.
pub(super) const BUFFER_BYTES: usize = 2048;

/// Memory in a row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Where the device sees it.
    pub phys: u64,
    /// Where we see it.
    pub at: NonNull<u8>,
}

/// Where such memory comes from.
///
/// # Safety
/// What `row` returns is aligned to a page, zeroed, as long as was asked for, and nobody else's for ever.
pub unsafe trait Memory {
    /// So many pages in a row; None: there are none.
    fn row(pages: usize) -> Option<Row>;
}

/// Memory for a ring of `size` descriptors, and where the device finds its three parts.
pub(super) fn ring<M: Memory>(size: u16) -> Result<(Area, [u64; 3]), Error> {
    let row = M::row(Area::bytes(size).div_ceil(PAGE_BYTES)).ok_or(Error::NoMemory)?;
    // SAFETY: as `Memory` promises.
    let area = unsafe { Area::at(row.at.as_ptr(), size) };
    Ok((
        area,
        Area::offsets(size).map(|offset| row.phys + offset as u64),
    ))
}

/// Buffers of [`BUFFER_BYTES`], by number.
///
/// **I-BUFFER** A buffer is the device's from [`Buffers::give`] to the return of its chain; in between nobody here touches it.
/// Who holds its number in a list of free ones, or has it from the ring, has it alone.
pub(super) struct Buffers(Box<[Row]>);

// SAFETY: plain memory, reached through `&mut self` only.
unsafe impl Send for Buffers {}

impl Buffers {
    /// `n` of them.
    pub(super) fn new<M: Memory>(n: u16) -> Result<Buffers, Error> {
        let mut all = Vec::with_capacity(usize::from(n));
        while all.len() < usize::from(n) {
            let page = M::row(1).ok_or(Error::NoMemory)?;
            for half in 0..PAGE_BYTES / BUFFER_BYTES {
                // SAFETY: inside of the page.
                let at = unsafe { page.at.add(half * BUFFER_BYTES) };
                let phys = page.phys + (half * BUFFER_BYTES) as u64;
                all.push(Row { phys, at })
            }
        }
        all.truncate(n.into());
        Ok(Buffers(all.into()))
    }

    /// The device's end of `len` bytes of buffer `i`.
    pub(super) fn give(&self, i: u16, len: usize, device_writes: bool) -> Buffer {
        debug_assert!(len <= BUFFER_BYTES);
        Buffer {
            phys: self.0[usize::from(i)].phys,
            len: len as u32,
            device_writes,
        }
    }

    /// The first `len` bytes of buffer `i`, which is not the device's (I-BUFFER).
    pub(super) fn bytes(&mut self, i: u16, len: usize) -> &mut [u8] {
        assert!(len <= BUFFER_BYTES);
        // SAFETY: I-BUFFER; the slice borrows all of `self`.
        unsafe { core::slice::from_raw_parts_mut(self.0[usize::from(i)].at.as_ptr(), len) }
    }
}
