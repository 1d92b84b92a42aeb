//! Stacks of Gs: slots of address space, backed page by page as a G touches them.
//!
//! ```text
//!   bare machine                        host machine
//!   top   +-----------------+           +-----------------+
//!         | the G itself    | backed    | the G itself    |
//!         | frames, down    | from      | frames, down    |
//!         |                 | the       |                 |
//!         |                 | reserve   |                 | backed by the OS
//!   lo    +-----------------+           |                 |
//!         | page 1: frames of injected  +-----------------+ lo
//!         | calls only      |           | guard           |
//!         +-----------------+           +-----------------+
//!         | page 0: guard   |
//!         +-----------------+
//! ```
//!
//! A page fault on the bare machine allocates nothing and takes no lock: it takes a frame from its CPU's reserve, which
//! [`before_execute`] has filled up to what one slot can want. A dead G keeps its slot, and its struct, for the next G.
//! What it touched below its top page is given back when many Gs are dead ([`Trim`]): the frames wait in quarantine until
//! no TLB remembers them, and a CPU that is to run the slot's next G forgets the old pages first. Where very many are dead,
//! whole slots are given back, with the Gs in them (`slots`).

use crate::{OutOfMemory, PAGE_BYTES};

/// Smallest slot that [`init`] takes.
pub const SLOT_BYTES_MIN: usize = 16 << 10;
/// Largest slot that [`init`] takes.
pub const SLOT_BYTES_MAX: usize = 1 << 20;
/// Slot of the default configuration.
pub const SLOT_BYTES_DEFAULT: usize = 256 << 10;

/// A stack. Plain data: it lives as long as the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GStack {
    /// Lowest address that a G's own frames may use.
    pub lo: usize,
    /// End of the stack, exclusive, 16-aligned.
    pub top: usize,
    /// Number of the slot, dense from 0.
    pub slot: u32,
}

#[cfg(ringo_kernel)]
#[cfg(ringo_kernel)]
mod bare;
#[cfg(ringo_kernel)]
use bare as imp;
#[cfg(not(ringo_kernel))]
mod host;
#[cfg(not(ringo_kernel))]
use host as imp;

#[cfg(ringo_kernel)]
pub use bare::{Glass, for_each_listed, glass, list};
#[cfg(ringo_kernel)]
pub(crate) use bare::{has_released, kept_frames, sweep};
pub use imp::{Trim, alloc, before_execute, init, slot_bytes, slot_of};

fn check_slot_bytes(bytes: usize) {
    assert!(
        bytes.is_power_of_two() && (SLOT_BYTES_MIN..=SLOT_BYTES_MAX).contains(&bytes),
        "a stack slot of {bytes} bytes is not possible: a power of two from 16 KiB to 1 MiB"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_apart_and_found_by_address() {
        let (a, b) = (alloc().unwrap(), alloc().unwrap());
        assert_ne!(a.slot, b.slot);
        for s in [a, b] {
            assert_eq!(s.top % 16, 0);
            assert!(s.top - s.lo >= slot_bytes() - 2 * PAGE_BYTES);
            assert_eq!(slot_of(s.lo), Some(s.slot));
            assert_eq!(slot_of(s.top - 1), Some(s.slot));
            assert_eq!(slot_of(s.lo - 1), Some(s.slot));
        }
        assert_eq!(slot_of(0), None);
        before_execute(0);
    }

    #[test]
    #[should_panic(expected = "a power of two from 16 KiB to 1 MiB")]
    fn a_crooked_size_is_refused() {
        init(100_000);
    }
}
