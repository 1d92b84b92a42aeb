//! Tables made by hand.

use super::*;
use bootloader_api::info::MemoryRegionKind::{Bootloader, UnknownBios, Usable};

/// A few bytes of physical memory at `BASE`.
struct Ram(Vec<u8>);
const BASE: u64 = 0x7000;
const IMAGE: (u64, u64) = (0x10_0000, 0x30_0000);

impl Memory for Ram {
    fn read(&self, phys: u64, into: &mut [u8]) -> bool {
        let Some(at) = phys.checked_sub(BASE).map(|a| a as usize) else {
            return false;
        };
        let Some(from) = self.0.get(at..).and_then(|s| s.get(..into.len())) else {
            return false;
        };
        into.copy_from_slice(from);
        true
    }
}

struct Tables {
    magic: u32,
    version: u32,
    modules: Vec<(u64, u64)>,
    map: Vec<(u64, u64, u32)>,
}

impl Default for Tables {
    fn default() -> Self {
        Tables {
            magic: MAGIC,
            version: 1,
            modules: vec![],
            map: vec![(0, 0x9fc00, 1), (0x10_0000, 0x3f0_0000, 1)],
        }
    }
}

impl Tables {
    fn ram(&self) -> Ram {
        let modules = BASE + 56;
        let map = modules + 32 * self.modules.len() as u64;
        let mut b = vec![];
        for word in [self.magic, self.version, 0, self.modules.len() as u32] {
            b.extend(word.to_le_bytes());
        }
        for word in [modules, 0, 0xf_5000, map, self.map.len() as u64] {
            b.extend(word.to_le_bytes());
        }
        for &(start, bytes) in &self.modules {
            b.extend([start, bytes, 0, 0].iter().flat_map(|w| w.to_le_bytes()));
        }
        for &(start, bytes, kind) in &self.map {
            b.extend(
                [start, bytes, u64::from(kind)]
                    .iter()
                    .flat_map(|w| w.to_le_bytes()),
            );
        }
        Ram(b)
    }
    fn parse(&self) -> Result<(StartInfo, Vec<MemoryRegion>), Bad> {
        let mut regions = [MemoryRegion::empty(); 64];
        let found = parse(&self.ram(), BASE, IMAGE, &mut regions)?;
        Ok((found, regions[..found.regions].to_vec()))
    }
}

fn region(start: u64, end: u64, kind: bootloader_api::info::MemoryRegionKind) -> MemoryRegion {
    MemoryRegion { start, end, kind }
}

#[test]
fn an_ordinary_machine() {
    let t = Tables {
        modules: vec![(0x300_0000, 0x1234)],
        ..Tables::default()
    };
    let (found, regions) = t.parse().unwrap();
    assert_eq!(found.rsdp, Some(0xf_5000));
    assert_eq!(found.module, Some((0x300_0000, 0x300_1234)));
    let want = [
        region(0, 0x9fc00, Bootloader),
        region(0x10_0000, 0x30_0000, Bootloader),
        region(0x30_0000, 0x300_0000, Usable),
        region(0x300_0000, 0x300_1234, Bootloader),
        region(0x300_2000, 0x400_0000, Usable),
    ];
    assert_eq!(regions, want);
}

#[test]
fn bad_magic_and_version() {
    assert_eq!(
        Tables {
            magic: 7,
            ..Tables::default()
        }
        .parse()
        .unwrap_err(),
        Bad::Magic(7)
    );
    assert_eq!(
        Tables {
            version: 0,
            ..Tables::default()
        }
        .parse()
        .unwrap_err(),
        Bad::NoMemoryMap
    );
    assert_eq!(
        Tables {
            map: vec![],
            ..Tables::default()
        }
        .parse()
        .unwrap_err(),
        Bad::NoMemoryMap
    );
    let many = vec![(0, 4096, 1); MAX_ENTRIES as usize + 1];
    assert_eq!(
        Tables {
            map: many,
            ..Tables::default()
        }
        .parse()
        .unwrap_err(),
        Bad::TooManyEntries(513)
    );
}

#[test]
fn structure_out_of_reach() {
    let mut regions = [MemoryRegion::empty(); 4];
    assert_eq!(
        parse(&Ram(vec![0; 100]), 0, IMAGE, &mut regions),
        Err(Bad::Unreadable)
    );
    assert_eq!(
        parse(&Ram(vec![0; 100]), u64::MAX, IMAGE, &mut regions),
        Err(Bad::Unreadable)
    );
    let cut = Ram(Tables::default().ram().0[..48].to_vec());
    assert_eq!(parse(&cut, BASE, IMAGE, &mut regions), Err(Bad::Unreadable));
}

#[test]
fn no_module_an_empty_one_and_one_without_end() {
    assert_eq!(Tables::default().parse().unwrap().0.module, None);
    let empty_first = Tables {
        modules: vec![(0x200_0000, 0), (0x210_0000, 8)],
        ..Tables::default()
    };
    assert_eq!(
        empty_first.parse().unwrap().0.module,
        Some((0x210_0000, 0x210_0008))
    );
    let endless = Tables {
        modules: vec![(0x200_0000, u64::MAX)],
        ..Tables::default()
    };
    assert_eq!(endless.parse().unwrap().0.module, None);
}

#[test]
fn overlapping_and_unsorted() {
    let t = Tables {
        map: vec![
            (0x200_0000, 0x100_0000, 1),
            (0x10_0000, 0x280_0000, 1),
            (0x210_0800, 0x1000, 2),
            (0x500_0000, 0, 1),
        ],
        ..Tables::default()
    };
    let want = [
        region(0x10_0000, 0x30_0000, Bootloader),
        region(0x30_0000, 0x210_0000, Usable),
        region(0x210_0800, 0x210_1800, UnknownBios(2)),
        region(0x210_2000, 0x300_0000, Usable),
    ];
    assert_eq!(t.parse().unwrap().1, want);
}

#[test]
fn entries_that_reach_past_the_end() {
    let t = Tables {
        map: vec![(0x10_0000, u64::MAX, 1), (1 << 40, u64::MAX, 2)],
        ..Tables::default()
    };
    let (_, regions) = t.parse().unwrap();
    assert_eq!(regions[1], region(0x30_0000, 1 << 40, Usable));
    assert_eq!(regions[2], region(1 << 40, u64::MAX, UnknownBios(2)));
}

#[test]
fn more_regions_than_room_keeps_the_lowest() {
    let map = (0..200)
        .map(|i| (0x40_0000 + i * 0x2000, 0x1000, 1))
        .collect();
    let (found, regions) = Tables {
        map,
        ..Tables::default()
    }
    .parse()
    .unwrap();
    assert_eq!(found.regions, 64);
    assert_eq!(
        regions[63],
        region(0x40_0000 + 63 * 0x2000, 0x40_1000 + 63 * 0x2000, Usable)
    );
}

#[test]
fn less_than_a_page_is_not_usable() {
    let t = Tables {
        map: vec![(0x40_0800, 0x1700, 1)],
        ..Tables::default()
    };
    assert_eq!(t.parse().unwrap().1, []);
}
