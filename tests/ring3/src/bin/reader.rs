//! Reads the disk, one long request after the other. `reader [READS]`.
#![no_std]
#![no_main]
use rt::disk::{self, SECTOR_BYTES};
use rt::prelude::*;
rt::main!(main);

/// Sectors of a read: one request of the disk.
const SECTORS: u64 = 32;
/// Reads before the disk begins anew.
const PLACES: u64 = 50;

fn main() -> rt::Result<()> {
    let reads = rt::args::number(0, "reads", 50, 1..=1_000_000);
    let mut buffer = vec![0; SECTORS as usize * SECTOR_BYTES];
    for n in 0..reads {
        let sector = n % PLACES * SECTORS;
        disk::read(sector, &mut buffer)?;
        // Each sector of the runner's disk consists of its own number.
        assert_eq!(buffer[SECTOR_BYTES..][..8], (sector + 1).to_le_bytes());
    }
    Ok(())
}
