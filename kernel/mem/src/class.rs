//! Size classes of small objects: 16 bytes to half a page, powers of two and the steps halfway between them.
//!
//! Halfway steps keep the waste below a third of an object; Go's table of 68 classes keeps it below an eighth
//! (`runtime/sizeclasses.go`), at the price of more half-empty pages.

use crate::PAGE_BYTES;
use core::alloc::Layout;

/// Bytes of an object of each class.
pub const CLASS_BYTES: [usize; 15] = [
    16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
];
/// Bytes of the largest small object.
pub const SMALL_MAX_BYTES: usize = CLASS_BYTES[CLASS_BYTES.len() - 1];

/// Class of each size, in steps of 8 bytes, rounded up.
const CLASS_OF: [u8; SMALL_MAX_BYTES / 8 + 1] = {
    let mut table = [0; SMALL_MAX_BYTES / 8 + 1];
    let (mut step, mut class) = (0, 0);
    while step < table.len() {
        if step * 8 > CLASS_BYTES[class] {
            class += 1;
        }
        table[step] = class as u8;
        step += 1;
    }
    table
};

/// The class from which an object of this layout comes, an index of [`CLASS_BYTES`]; `None` if it is no small object.
///
/// A class of 3·2ⁿ bytes gives addresses that are multiples of 2ⁿ only, so an object with a larger alignment goes to
/// the next power of two.
#[inline]
pub fn class_of(layout: Layout) -> Option<usize> {
    class_of_plain(layout).or_else(|| class_of_aligned(layout))
}

/// [`class_of`] for the alignments that nearly all objects have, up to 8 bytes; `None` for others too.
#[inline(always)]
pub fn class_of_plain(layout: Layout) -> Option<usize> {
    // All classes are multiples of 8 bytes.
    if layout.align() > 8 || layout.size() > SMALL_MAX_BYTES {
        return None;
    }
    Some(CLASS_OF[layout.size().div_ceil(8)] as usize)
}

#[inline(never)]
fn class_of_aligned(layout: Layout) -> Option<usize> {
    let (bytes, align) = (layout.size(), layout.align());
    if bytes > SMALL_MAX_BYTES || align > SMALL_MAX_BYTES {
        return None;
    }
    let mut class = CLASS_OF[bytes.max(align).div_ceil(8)] as usize;
    // At most one step, since every second class is a power of two. A mask: the compiler would divide.
    class += usize::from(CLASS_BYTES[class] & (align - 1) != 0);
    Some(class)
}

/// Objects of a class in one page.
pub const fn per_page(class: usize) -> usize {
    PAGE_BYTES / CLASS_BYTES[class]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_class_that_fits_size_and_alignment() {
        for bytes in 0..=SMALL_MAX_BYTES {
            for align in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048] {
                let layout = Layout::from_size_align(bytes, align).unwrap();
                let want = CLASS_BYTES
                    .iter()
                    .position(|&b| b >= bytes && b.is_multiple_of(align));
                assert_eq!(class_of(layout), want, "{layout:?}");
            }
        }
        for (bytes, align) in [(2049, 8), (16, 4096), (1 << 20, 1)] {
            assert_eq!(
                class_of(Layout::from_size_align(bytes, align).unwrap()),
                None
            );
        }
    }

    #[test]
    fn a_class_wastes_at_most_a_third_of_an_object() {
        for bytes in 25..=SMALL_MAX_BYTES {
            let class = class_of(Layout::from_size_align(bytes, 8).unwrap()).unwrap();
            assert!(
                CLASS_BYTES[class] * 2 <= bytes * 3,
                "{bytes} bytes in {}",
                CLASS_BYTES[class]
            );
        }
    }
}
