//! The disk, sector by sector. A read occupies its CPU; the scheduler hands the P on meanwhile (Go: `entersyscall`).

use crate::{Result, syscall};
use abi::{Call, DISK_READ_MAX_BYTES};

/// Bytes of a sector.
pub const SECTOR_BYTES: usize = 512;

/// Reads whole sectors from `sector` on.
///
/// # Errors
///
/// [`abi::Error::Disk`]: there is none, it has no such sector, or it failed; [`abi::Error::BadArgument`]: `to` is no whole number of
/// sectors.
pub fn read(sector: u64, to: &mut [u8]) -> Result<()> {
    let mut at = sector;
    for part in to.chunks_mut(DISK_READ_MAX_BYTES as usize) {
        // SAFETY: the kernel writes to `part`, no more.
        unsafe {
            syscall::call(
                Call::DiskRead,
                [at, part.as_mut_ptr() as u64, part.len() as u64],
            )
        }?;
        at += (part.len() / SECTOR_BYTES) as u64;
    }
    Ok(())
}
