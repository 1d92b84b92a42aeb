//! The memory that driver and device share: descriptor table, available ring, used ring (virtio 1.2, 2.7.5 to 2.7.8).
//!
//! Everything in it is an atomic: the other side is another processor. The two indices are what orders the rest.

use base::shim::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The chain goes on with the descriptor named in `next`.
const NEXT: u64 = 1;
/// The device writes to this buffer; else it reads it.
const WRITE: u64 = 2;
/// In `used_flags`: the device does not want to be told of buffers (only without event index).
pub(super) const NO_NOTIFY: u16 = 1;
/// In `avail_flags`: the driver does not want to be told of used ones (only without event index).
pub(super) const NO_INTERRUPT: u16 = 1;

/// The three parts. Copies are the same memory.
#[derive(Clone, Copy)]
pub struct Area {
    /// Address, and length | flags << 32 | next << 48, of each descriptor.
    desc: &'static [[AtomicU64; 2]],
    pub(super) avail_flags: &'static AtomicU16,
    pub(super) avail_idx: &'static AtomicU16,
    pub(super) avail: &'static [AtomicU16],
    /// The driver wants to be told when the used index passes it.
    pub(super) used_event: &'static AtomicU16,
    pub(super) used_flags: &'static AtomicU16,
    pub(super) used_idx: &'static AtomicU16,
    /// Head of a chain, and the bytes written to it.
    pub(super) used: &'static [[AtomicU32; 2]],
    /// The device wants to be told when the available index passes it.
    pub(super) avail_event: &'static AtomicU16,
}

/// One descriptor, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Desc {
    pub phys: u64,
    pub len: u32,
    pub device_writes: bool,
    pub next: Option<u16>,
}

impl Area {
    /// Where the parts begin in an area for `size` descriptors: table, available ring, used ring.
    pub const fn offsets(size: u16) -> [usize; 3] {
        let n = size as usize;
        let avail = 16 * n;
        let used = (avail + 6 + 2 * n).next_multiple_of(4);
        [0, avail, used]
    }

    /// Bytes of an area for `size` descriptors.
    pub const fn bytes(size: u16) -> usize {
        Self::offsets(size)[2] + 6 + 8 * size as usize
    }

    /// The area that begins at `at`.
    ///
    /// # Panics
    /// If `size` is no power of two from 2 to 32,768, or `at` is not aligned to 16 bytes.
    ///
    /// # Safety
    /// [`Area::bytes`] zeroed bytes begin there, are never freed, and belong to this area and its device alone.
    #[cfg(not(ringo_loom))]
    pub unsafe fn at(at: *mut u8, size: u16) -> Area {
        assert!(
            size.is_power_of_two() && (2..=32768).contains(&size) && at.addr().is_multiple_of(16),
            "a ring of {size} descriptors at {at:?}"
        );
        let n = size as usize;
        let [desc, avail, used] = Self::offsets(size);
        // SAFETY: in bounds and aligned by the layout above; atomics, so that the other side may touch them at any time.
        unsafe {
            let u16_at = |offset: usize| &*at.add(offset).cast::<AtomicU16>();
            Area {
                desc: core::slice::from_raw_parts(at.add(desc).cast(), n),
                avail_flags: u16_at(avail),
                avail_idx: u16_at(avail + 2),
                avail: core::slice::from_raw_parts(at.add(avail + 4).cast(), n),
                used_event: u16_at(avail + 4 + 2 * n),
                used_flags: u16_at(used),
                used_idx: u16_at(used + 2),
                used: core::slice::from_raw_parts(at.add(used + 4).cast(), n),
                avail_event: u16_at(used + 4 + 8 * n),
            }
        }
    }

    /// The same from memory of the host's own, for tests. Never freed.
    #[cfg(all(test, not(ringo_loom)))]
    pub(super) fn leaked(size: u16) -> Area {
        let words = alloc::vec![0u128; Self::bytes(size).div_ceil(16)];
        // SAFETY: aligned, zeroed, leaked.
        unsafe {
            Self::at(
                alloc::boxed::Box::leak(words.into_boxed_slice())
                    .as_mut_ptr()
                    .cast(),
                size,
            )
        }
    }

    /// The same as the model checker's atomics.
    #[cfg(ringo_loom)]
    pub fn modelled(size: u16) -> Area {
        fn leak<T>(value: T) -> &'static T {
            Box::leak(Box::new(value))
        }
        fn many<T>(n: u16, new: impl Fn() -> T) -> &'static [T] {
            Vec::leak((0..n).map(|_| new()).collect())
        }
        Area {
            desc: many(size, || [AtomicU64::new(0), AtomicU64::new(0)]),
            avail_flags: leak(AtomicU16::new(0)),
            avail_idx: leak(AtomicU16::new(0)),
            avail: many(size, || AtomicU16::new(0)),
            used_event: leak(AtomicU16::new(0)),
            used_flags: leak(AtomicU16::new(0)),
            used_idx: leak(AtomicU16::new(0)),
            used: many(size, || [AtomicU32::new(0), AtomicU32::new(0)]),
            avail_event: leak(AtomicU16::new(0)),
        }
    }

    /// How many descriptors.
    pub fn size(&self) -> u16 {
        self.desc.len() as u16
    }

    /// The place of index `idx` in a ring.
    pub(super) fn slot(&self, idx: u16) -> usize {
        usize::from(idx) & (self.desc.len() - 1)
    }

    pub(super) fn set_desc(&self, at: u16, d: Desc) {
        let flags =
            if d.next.is_some() { NEXT } else { 0 } | if d.device_writes { WRITE } else { 0 };
        let next = u64::from(d.next.unwrap_or(0));
        let [phys, rest] = &self.desc[usize::from(at)];
        phys.store(d.phys, Relaxed);
        rest.store(u64::from(d.len) | flags << 32 | next << 48, Relaxed)
    }

    #[cfg(any(test, ringo_loom))]
    pub(super) fn desc(&self, at: u16) -> Desc {
        let [phys, rest] = &self.desc[usize::from(at)];
        let rest = rest.load(Relaxed);
        Desc {
            phys: phys.load(Relaxed),
            len: rest as u32,
            device_writes: rest >> 32 & WRITE != 0,
            next: (rest >> 32 & NEXT != 0).then_some((rest >> 48) as u16),
        }
    }
}
