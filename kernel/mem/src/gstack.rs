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
//! no TLB remembers them, and a CPU that is to run the slot's next G forgets the old pages first.

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
pub(crate) use imp::kept_frames;
pub use imp::{Trim, alloc, before_execute, init, slot_bytes, slot_of};

fn check_slot_bytes(bytes: usize) {
    assert!(
        bytes.is_power_of_two() && (SLOT_BYTES_MIN..=SLOT_BYTES_MAX).contains(&bytes),
        "a stack slot of {bytes} bytes is not possible: a power of two from 16 KiB to 1 MiB"
    );
}

#[cfg(ringo_kernel)]
mod imp {
    use super::*;
    use crate::{flush, frames};
    use arch::bare;
    use base::lock::{Rank, SpinLock};
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Bytes of the window that `arch` keeps for stacks.
    const WINDOW_BYTES: usize = 512 << 30;

    /// Slots that exist. The lock makes creation one caller at a time.
    static SLOTS: SpinLock<usize> = SpinLock::new(Rank::Stack, 0);
    /// The same for readers without the lock.
    static SLOT_COUNT: AtomicUsize = AtomicUsize::new(0);
    static SLOT_BYTES: AtomicUsize = AtomicUsize::new(SLOT_BYTES_DEFAULT);
    /// Frames that a G can make its CPU's reserve give: a slot without its guard and its topmost page.
    static RESERVE_WANTED: AtomicUsize = AtomicUsize::new(SLOT_BYTES_DEFAULT / PAGE_BYTES - 1);

    /// Sets the size of all slots, in bytes.
    ///
    /// # Panics
    /// If the size is no power of two from 16 KiB to 1 MiB, or a slot exists already.
    pub fn init(slot_bytes: usize) {
        check_slot_bytes(slot_bytes);
        let slots = SLOTS.lock();
        assert_eq!(
            *slots, 0,
            "the size of stack slots is set after the first slot was made"
        );
        SLOT_BYTES.store(slot_bytes, Relaxed);
        RESERVE_WANTED.store(slot_bytes / PAGE_BYTES - 1, Relaxed);
        // SAFETY: no slot exists, and the lock keeps others out.
        unsafe { bare::set_stack_slot_bytes(slot_bytes) };
    }

    /// Bytes of a slot, the pages that a G may not use among them.
    pub fn slot_bytes() -> usize {
        SLOT_BYTES.load(Relaxed)
    }

    /// Frames that are left for the growth of stacks: each CPU can need a whole slot's pages for the G that it runs.
    /// Neither new stacks nor the heap take them, so that memory ends with an error of who asked for more, not with a
    /// stack that cannot grow.
    pub(crate) fn kept_frames() -> u64 {
        (arch::num_cpus() * (slot_bytes() / PAGE_BYTES)) as u64
    }

    /// A new stack, its topmost page backed.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the window is full, or the frames left are those that the Gs which exist may still want.
    pub fn alloc() -> Result<GStack, OutOfMemory> {
        let bytes = slot_bytes();
        let mut slots = SLOTS.lock();
        let slot = *slots;
        if (slot + 1) * bytes > WINDOW_BYTES {
            return Err(OutOfMemory);
        }
        let frame = frames::alloc_above(kept_frames()).ok_or(OutOfMemory)?;
        // SAFETY: the next slot in order, under the lock; the frame is ours.
        let created = unsafe { bare::stack_slot_create(slot, frame, &mut frames::alloc) };
        if created.is_err() {
            // SAFETY: just handed out, mapped nowhere.
            unsafe { frames::free(frame) };
            return Err(OutOfMemory);
        }
        *slots = slot + 1;
        SLOT_COUNT.store(slot + 1, Relaxed);
        let base = bare::STACK_BASE as usize + slot * bytes;
        Ok(GStack {
            lo: base + 2 * PAGE_BYTES,
            top: base + bytes,
            slot: slot as u32,
        })
    }

    /// To be called on g0 before a G is resumed: this CPU's reserve then has the pages for any growth of one slot, and the
    /// CPU has forgotten the pages that were taken from the G's stack ([`Trim::finish`] gave the stamp; 0: none).
    #[inline]
    pub fn before_execute(stamp: u64) {
        flush::not_behind(stamp);
        let wanted = RESERVE_WANTED.load(Relaxed);
        let have = bare::reserve_len();
        if have < wanted {
            refill(wanted - have);
        }
    }

    #[cold]
    #[inline(never)]
    fn refill(missing: usize) {
        // SAFETY: on g0, says `before_execute`: a fully backed stack, so no fault takes from the reserve meanwhile.
        frames::alloc_many(missing, |frame| unsafe { bare::reserve_push(frame) });
    }

    /// Gives back what dead Gs have touched of their stacks, below their top pages. For many at a time.
    pub struct Trim {
        chain: frames::Chain,
    }

    impl Default for Trim {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Trim {
        /// Nothing so far.
        pub const fn new() -> Self {
            Self {
                chain: frames::Chain::new(),
            }
        }

        /// Trims the stack in which `address` lies.
        ///
        /// # Safety
        /// Its G is dead and the caller's; it is run again only after [`before_execute`] with the stamp that
        /// [`Trim::finish`] gives. On g0, preemption off.
        pub unsafe fn stack(&mut self, address: usize) {
            let chain = &mut self.chain;
            // SAFETY: as the caller promises; quarantine keeps the frames until all CPUs have flushed.
            unsafe { bare::stack_slot_trim(address as u64, &mut |frame| chain.push(frame)) };
        }

        /// The stamp of the stacks that were trimmed; 0 if nothing was taken from them.
        pub fn finish(self) -> u64 {
            if self.chain.count() == 0 {
                return 0;
            }
            let stamp = flush::stamp();
            flush::hold(self.chain);
            stamp
        }
    }

    /// Number of the slot in which an address lies, its guard page included. Takes no lock: for reports.
    pub fn slot_of(address: usize) -> Option<u32> {
        let offset = address.checked_sub(bare::STACK_BASE as usize)?;
        let slot = offset / slot_bytes();
        (slot < SLOT_COUNT.load(Relaxed)).then_some(slot as u32)
    }
}

#[cfg(not(ringo_kernel))]
mod imp {
    use super::*;
    use arch::hosted;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    static SLOT_BYTES: AtomicUsize = AtomicUsize::new(SLOT_BYTES_DEFAULT);

    /// Sets the size of the slots that are made from now on, in bytes.
    ///
    /// # Panics
    /// If the size is no power of two from 16 KiB to 1 MiB.
    pub fn init(slot_bytes: usize) {
        check_slot_bytes(slot_bytes);
        SLOT_BYTES.store(slot_bytes, Relaxed);
    }

    /// Bytes of a slot, the guard page among them.
    pub fn slot_bytes() -> usize {
        SLOT_BYTES.load(Relaxed)
    }

    /// A new stack.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the host has no address space left for the process.
    pub fn alloc() -> Result<GStack, OutOfMemory> {
        let stack = hosted::map_stack(slot_bytes()).map_err(|_| OutOfMemory)?;
        debug_assert!(stack.lo % PAGE_BYTES == 0);
        Ok(GStack {
            lo: stack.lo,
            top: stack.top,
            slot: u32::try_from(stack.slot).map_err(|_| OutOfMemory)?,
        })
    }

    /// On the bare machine this fills the reserve of stack pages. Here the OS backs stacks.
    #[inline]
    pub fn before_execute(_stamp: u64) {}

    /// On the bare machine this gives back what dead Gs have touched of their stacks. Here the OS keeps it.
    #[derive(Default)]
    pub struct Trim;

    impl Trim {
        /// Nothing so far.
        pub const fn new() -> Self {
            Self
        }

        /// Does nothing.
        ///
        /// # Safety
        /// None is needed here.
        pub unsafe fn stack(&mut self, _address: usize) {}

        /// The stamp: 0, nothing was taken.
        pub fn finish(self) -> u64 {
            0
        }
    }

    /// Number of the slot in which an address lies, its guard page included. Takes no lock: for reports.
    pub fn slot_of(address: usize) -> Option<u32> {
        hosted::stack_slot_of(address).map(|slot| slot as u32)
    }
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
