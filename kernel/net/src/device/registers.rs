//! A block of a device's registers.
//!
//! **I-REGISTERS** A block lies in a BAR of a device that is ours alone, mapped uncached and for good; each access is inside of it and
//! aligned. What a register does to memory is the matter of who writes it (`Transport::start_queue`).

use arch::bare::{PciBars, map_registers};
use core::ptr::NonNull;
use mem::frames;

/// Registers at an address that is aligned to 4 bytes.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: registers answer on every CPU.
unsafe impl Send for Registers {}

impl Registers {
    /// `bytes` registers at `offset` of a BAR. None: the device says that they lie where none can.
    ///
    /// # Safety
    /// I-REGISTERS: the BARs are those of a device that is the caller's alone.
    pub(super) unsafe fn map(
        bars: &PciBars,
        bar: u8,
        offset: u64,
        bytes: usize,
    ) -> Option<Registers> {
        let (base, size) = (*bars.get(usize::from(bar))?)?;
        let inside = offset.checked_add(bytes as u64)? <= size;
        if !inside || !offset.is_multiple_of(4) {
            return None;
        }
        // SAFETY: the caller's promise.
        let at = unsafe { map_registers(base + offset, bytes, &mut frames::alloc) };
        Some(Registers {
            at: NonNull::new(at.ok()?)?,
            bytes,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The one register at `offset`, as a block. None: there is none.
    pub(super) fn one<T>(&self, offset: usize) -> Option<Registers> {
        let bytes = size_of::<T>();
        let there = offset.is_multiple_of(bytes) && offset.checked_add(bytes)? <= self.bytes;
        there.then(|| Registers {
            // SAFETY: inside of the block.
            at: unsafe { self.at.add(offset) },
            bytes,
        })
    }

    fn register<T>(&self, offset: usize) -> *mut T {
        let one = self.one::<T>(offset);
        let one = one.unwrap_or_else(|| panic!("register {offset} of a block of {}", self.bytes));
        one.at.cast().as_ptr()
    }

    /// Reads a register.
    ///
    /// # Panics
    /// If it is not in the block.
    pub(super) fn read<T>(&self, offset: usize) -> T {
        // SAFETY: I-REGISTERS.
        unsafe { self.register::<T>(offset).read_volatile() }
    }

    /// Writes a register.
    ///
    /// # Panics
    /// If it is not in the block.
    pub(super) fn write<T>(&self, offset: usize, value: T) {
        // SAFETY: I-REGISTERS.
        unsafe { self.register::<T>(offset).write_volatile(value) }
    }
}
