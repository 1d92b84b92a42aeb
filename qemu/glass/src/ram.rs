//! The machine's memory, read from the file that backs it.

use std::fs::File;
use std::os::unix::fs::FileExt;

const PAGE: u64 = 4096;
const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
/// The address bits of a page table entry (SDM volume 3, table 4-20).
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// Where RAM goes on that has no room below the devices.
const ABOVE: u64 = 1 << 32;

/// RAM by physical address.
#[derive(Debug)]
pub struct Ram {
    file: File,
    low_bytes: u64,
}

impl Ram {
    /// `low_bytes` of the file lie from physical address 0 on, the rest from 4 GiB on.
    pub fn new(file: File, low_bytes: u64) -> Ram {
        Ram { file, low_bytes }
    }

    /// Copies what lies at `phys`; false if that is no RAM.
    pub fn read(&self, phys: u64, into: &mut [u8]) -> bool {
        let end = phys.saturating_add(into.len() as u64);
        let at = if end <= self.low_bytes {
            phys
        } else if phys >= ABOVE {
            phys - ABOVE + self.low_bytes
        } else {
            return false;
        };
        self.file.read_exact_at(into, at).is_ok()
    }

    /// An 8-byte word.
    pub fn word(&self, phys: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(phys, &mut bytes)
            .then(|| u64::from_le_bytes(bytes))
    }
}

/// What a page table covers.
const TABLE_BYTES: u64 = 512 * PAGE;

/// A copy of a page table of the lowest level.
#[derive(Debug)]
pub struct Table {
    first: u64,
    bytes: Vec<u8>,
}

impl Table {
    /// Whether it is the one for `virt`.
    pub fn covers(&self, virt: u64) -> bool {
        virt & !(TABLE_BYTES - 1) == self.first
    }

    /// The entry of the page at `virt`, whatever it holds.
    pub fn entry(&self, virt: u64) -> u64 {
        u64_of(&self.bytes, (virt / PAGE % 512) * 8)
    }

    /// The physical address behind `virt`.
    pub fn physical(&self, virt: u64) -> Option<u64> {
        let entry = self.entry(virt);
        (entry & PRESENT != 0).then_some((entry & ADDRESS) + virt % PAGE)
    }
}

/// RAM by virtual address.
#[derive(Debug)]
pub struct Space {
    ram: Ram,
    cr3: u64,
}

impl Space {
    /// As seen through the page tables at `cr3`.
    pub fn new(ram: Ram, cr3: u64) -> Space {
        Space { ram, cr3 }
    }

    /// RAM by physical address.
    pub fn ram(&self) -> &Ram {
        &self.ram
    }

    /// The page table for the 2 MiB around `virt`. `None` if there is none, or a larger page.
    pub fn table(&self, virt: u64) -> Option<Table> {
        let mut table = self.cr3 & ADDRESS;
        for level in (1..4).rev() {
            let entry = self
                .ram
                .word(table + (virt >> (12 + 9 * level) & 511) * 8)?;
            if entry & PRESENT == 0 || entry & LARGE != 0 {
                return None;
            }
            table = entry & ADDRESS;
        }
        let mut bytes = vec![0; PAGE as usize];
        self.ram.read(table, &mut bytes).then_some(Table {
            first: virt & !(TABLE_BYTES - 1),
            bytes,
        })
    }

    /// The physical address behind a virtual one (SDM volume 3, 4.5).
    pub fn physical(&self, virt: u64) -> Option<u64> {
        let mut table = self.cr3 & ADDRESS;
        for level in (0..4).rev() {
            let shift = 12 + 9 * level;
            let entry = self.ram.word(table + (virt >> shift & 511) * 8)?;
            if entry & PRESENT == 0 {
                return None;
            }
            if level == 0 || level < 3 && entry & LARGE != 0 {
                let inside = virt & ((1 << shift) - 1);
                return Some((entry & ADDRESS & !((1 << shift) - 1)) + inside);
            }
            table = entry & ADDRESS;
        }
        None
    }

    /// Copies what lies at `virt`; false if a page of it is not mapped.
    pub fn read(&self, virt: u64, into: &mut [u8]) -> bool {
        let mut at = virt;
        let mut rest = into;
        while !rest.is_empty() {
            let here = ((PAGE - at % PAGE) as usize).min(rest.len());
            let (now, later) = rest.split_at_mut(here);
            if !self
                .physical(at)
                .is_some_and(|phys| self.ram.read(phys, now))
            {
                return false;
            }
            at = at.wrapping_add(here as u64);
            rest = later;
        }
        true
    }

    /// An 8-byte word.
    pub fn word(&self, virt: u64) -> Option<u64> {
        self.ram.word(self.physical(virt)?)
    }

    /// Words in a row.
    pub fn words(&self, virt: u64, count: usize) -> Option<Vec<u64>> {
        let mut bytes = vec![0; count * 8];
        self.read(virt, &mut bytes).then(|| {
            let words = bytes.chunks_exact(8);
            words.map(|w| u64_of(w, 0)).collect()
        })
    }

    /// A 4-byte word.
    pub fn half(&self, virt: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read(virt, &mut bytes)
            .then(|| u32::from_le_bytes(bytes))
    }
}

/// The 8-byte word at `at` of an object's bytes; 0 beyond its end.
pub(crate) fn u64_of(bytes: &[u8], at: u64) -> u64 {
    let at = at as usize;
    let word = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    word.map_or(0, u64::from_le_bytes)
}

/// The 4-byte word at `at`.
pub(crate) fn u32_of(bytes: &[u8], at: u64) -> u32 {
    let at = at as usize;
    let word = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    word.map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// RAM in a file that has no name any more.
    pub(crate) fn ram(bytes: u64, low_bytes: u64) -> Ram {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ringo-ram-{}-{n}", std::process::id()));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set_len(bytes).unwrap();
        Ram::new(file, low_bytes)
    }

    pub(crate) fn put(ram: &Ram, at: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        ram.file.write_all_at(&bytes, at).unwrap();
    }

    #[test]
    fn memory_above_4_gib_lies_behind_the_low_part() {
        let ram = ram(3 * PAGE, 2 * PAGE);
        put(&ram, 8, &[1]);
        put(&ram, 2 * PAGE + 8, &[2]);
        assert_eq!(ram.word(8), Some(1));
        assert_eq!(ram.word(ABOVE + 8), Some(2));
        assert_eq!(ram.word(2 * PAGE), None);
        assert_eq!(ram.word(2 * PAGE - 4), None);
        assert_eq!(ram.word(ABOVE + PAGE), None);
    }

    #[test]
    fn virtual_addresses() {
        let ram = ram(16 << 20, 16 << 20);
        // Level 4 at 0x1000, then one table each; a 4 KiB page, a missing one, and a large one of 2 MiB.
        put(&ram, 0x1000, &[0x2003]);
        put(&ram, 0x2000, &[0x3003]);
        put(&ram, 0x3000, &[0x4003, 0x80_0083]);
        put(&ram, 0x4000, &[0x6003, 0x5003, 4]);
        put(&ram, 0x6ff8, &[7]);
        put(&ram, 0x5000, &[8]);
        put(&ram, 0x80_0010, &[9]);
        let space = Space::new(ram, 0x1000);
        assert_eq!(space.words(0xff8, 2), Some(vec![7, 8]));
        assert_eq!(space.word(0x20_0010), Some(9));
        assert_eq!(space.half(0x20_0010), Some(9));
        assert_eq!(space.word(0x2000), None);
        let table = space.table(0x2000).unwrap();
        assert_eq!((table.entry(0x2000), table.physical(0x2000)), (4, None));
        assert_eq!(table.physical(0x1008), Some(0x5008));
        assert!(table.covers(0x1f_ffff) && !table.covers(0x20_0000));
        assert!(space.table(0x20_0000).is_none());
        assert_eq!(space.words(0x1ff8, 2), None);
        assert_eq!(space.word(1 << 39), None);
    }
}
