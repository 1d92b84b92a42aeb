//! Reads what a PVH loader leaves in memory: `hvm_start_info` and the two tables that it points to.
//!
//! Layout: Xen's `public/arch-x86/hvm/start_info.h`. Portable and told about memory through [`Memory`], so that tables
//! made by hand test it on the host.

use crate::memory_map::{self, Raw};
use bootloader_api::info::MemoryRegion;

/// First word of `hvm_start_info`.
pub const MAGIC: u32 = 0x336e_c578;
/// More memory-map entries than this are a broken table, not a machine.
pub const MAX_ENTRIES: u32 = 512;

/// A way to look at physical memory.
pub trait Memory {
    /// Copies from physical address `phys`. False, and nothing copied, where there is no memory that can be read.
    fn read(&self, phys: u64, into: &mut [u8]) -> bool;
}

/// What [`parse`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartInfo {
    /// How many entries of the caller's array are filled.
    pub regions: usize,
    /// Physical address of the ACPI root pointer, if the loader names one.
    pub rsdp: Option<u64>,
    /// Physical range of the first module that is not empty: the boot module.
    pub module: Option<(u64, u64)>,
}

/// Why [`parse`] gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// The structure lies where no memory can be read.
    Unreadable,
    /// It does not start with [`MAGIC`].
    Magic(u32),
    /// Version 0 of the structure, which has no memory map.
    NoMemoryMap,
    /// More than [`MAX_ENTRIES`] entries.
    TooManyEntries(u32),
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Reads the structure at `start` and writes the machine's memory map to `regions`, sorted, without overlaps, with
/// `image` (the kernel, physical), the module and all below 1 MiB taken out of what is usable.
///
/// # Errors
/// See [`Bad`]. A module or table that cannot be read counts as absent.
pub fn parse(
    memory: &dyn Memory,
    start: u64,
    image: (u64, u64),
    regions: &mut [MemoryRegion],
) -> Result<StartInfo, Bad> {
    let mut info = [0u8; 56];
    if !memory.read(start, &mut info[..40]) {
        return Err(Bad::Unreadable);
    }
    if u32_at(&info, 0) != MAGIC {
        return Err(Bad::Magic(u32_at(&info, 0)));
    }
    if u32_at(&info, 4) == 0 {
        return Err(Bad::NoMemoryMap);
    }
    if !memory.read(start, &mut info) {
        return Err(Bad::Unreadable);
    }
    let module = first_module(memory, u64_at(&info, 16), u32_at(&info, 12));
    let (table, entries) = (u64_at(&info, 40), u32_at(&info, 48));
    if table == 0 || entries == 0 {
        return Err(Bad::NoMemoryMap);
    }
    if entries > MAX_ENTRIES {
        return Err(Bad::TooManyEntries(entries));
    }
    let entry = |i: usize| {
        let mut e = [0u8; 24];
        let read = table
            .checked_add(i as u64 * 24)
            .is_some_and(|at| memory.read(at, &mut e));
        if read {
            Raw {
                start: u64_at(&e, 0),
                bytes: u64_at(&e, 8),
                kind: u32_at(&e, 16),
            }
        } else {
            Raw {
                start: 0,
                bytes: 0,
                kind: 0,
            }
        }
    };
    let taken = [(0, 1 << 20), image, module.unwrap_or((0, 0))];
    let regions = memory_map::normalise(entries as usize, entry, &taken, regions);
    let rsdp = u64_at(&info, 32);
    Ok(StartInfo {
        regions,
        rsdp: (rsdp != 0).then_some(rsdp),
        module,
    })
}

fn first_module(memory: &dyn Memory, list: u64, count: u32) -> Option<(u64, u64)> {
    (0..u64::from(count.min(MAX_ENTRIES))).find_map(|i| {
        let mut m = [0u8; 32];
        let read = list != 0
            && list
                .checked_add(i * 32)
                .is_some_and(|at| memory.read(at, &mut m));
        let (start, bytes) = (u64_at(&m, 0), u64_at(&m, 8));
        (read && bytes != 0).then(|| start.checked_add(bytes).map(|end| (start, end)))?
    })
}

#[cfg(test)]
#[path = "start_info_tests.rs"]
mod tests;
