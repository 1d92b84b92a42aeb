//! The mark of a free heap object in debug builds: it catches a second free and a late write.

use crate::PAGE_BYTES;
use crate::class::CLASS_BYTES;

/// Mixed with the object's address.
const LOW: u32 = 0x5f6f_626a;
const HIGH: u32 = 0x6672_6565;
/// Spreads the address over the high half (Knuth).
const SPREAD: u32 = 0x9e37_79b9;

/// The two halves of the mark. They are made, written and read one by one: the whole mark is in no register, so no interrupt leaves a
/// copy of it on a stack, where a value that is moved with the bytes that it does not use would carry it back into the same object.
fn low(object: *const usize) -> u32 {
    (object.addr() >> 3) as u32 ^ LOW
}

fn high(object: *const usize) -> u32 {
    ((object.addr() >> 3) as u32).wrapping_mul(SPREAD) ^ HIGH
}

/// # Safety
/// The object has at least 16 bytes.
unsafe fn write_mark(object: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let mark = object.add(1).cast::<u32>();
        mark.write_volatile(low(object));
        mark.add(1).write_volatile(high(object));
    }
}

/// # Safety
/// As [`write_mark`].
unsafe fn has_mark(object: *const usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let mark = object.add(1).cast::<u32>();
        mark.read_volatile() == low(object) && mark.add(1).read_volatile() == high(object)
    }
}

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
            assert!(
                !has_mark(object),
                "heap object {object:p} of {bytes} bytes is freed twice"
            );
            write_mark(object)
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
        unsafe { write_mark(object) }
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
            assert!(
                has_mark(object),
                "heap object {object:p} of {} bytes was written to after it was freed",
                CLASS_BYTES[class]
            );
            object.add(1).write(0);
        }
    }
}
