//! The mark of a free heap object in debug builds: it catches a second free and a late write.

use crate::PAGE_BYTES;
use crate::class::CLASS_BYTES;

/// Mixed with the object's address.
const FREE_MARK: usize = 0x6672_6565_5f6f_626a;

/// In debug builds, marks an object as free.
///
/// # Safety
/// The object is the heap's again and has at least 16 bytes.
///
/// # Panics
/// In debug builds, if it is marked already, or no object of the class begins there.
#[inline(always)]
pub unsafe fn mark_free(class: usize, object: *mut usize) {
    if cfg!(debug_assertions) {
        let bytes = CLASS_BYTES[class];
        let offset = object as usize % PAGE_BYTES;
        assert!(
            offset.is_multiple_of(bytes) && offset + bytes <= PAGE_BYTES,
            "{object:p} is freed, but no heap object of {bytes} bytes begins there"
        );
        // SAFETY: the caller's promise.
        unsafe {
            assert_ne!(
                object.add(1).read(),
                FREE_MARK ^ object as usize,
                "heap object {object:p} of {bytes} bytes is freed twice"
            );
            object.add(1).write(FREE_MARK ^ object as usize);
        }
    }
}

/// In debug builds, marks an object that was never handed out, whatever lies there.
///
/// # Safety
/// The object is free, and the caller's.
#[inline(always)]
pub(super) unsafe fn mark_fresh(object: *mut usize) {
    if cfg!(debug_assertions) {
        // SAFETY: the caller's promise.
        unsafe { object.add(1).write(FREE_MARK ^ object as usize) }
    }
}

/// In debug builds, checks and removes the mark.
///
/// # Safety
/// The object is free, marked, and the caller's.
///
/// # Panics
/// In debug builds, if the mark is gone.
#[inline(always)]
pub unsafe fn unmark(class: usize, object: *mut usize) {
    if cfg!(debug_assertions) {
        // SAFETY: the caller's promise.
        unsafe {
            assert_eq!(
                object.add(1).read(),
                FREE_MARK ^ object as usize,
                "heap object {object:p} of {} bytes was written to after it was freed",
                CLASS_BYTES[class]
            );
            object.add(1).write(0);
        }
    }
}
