//! The machine's RAM, from the loader's map.

use bootloader_api::info::{MemoryRegion, MemoryRegionKind};

/// Pieces of RAM that are mapped. What a machine has beyond them is not used, and that is said.
const PIECES_MAX: usize = 64;

/// Pieces of RAM, physical `(start, end)` in bytes, in the order of the map.
pub(super) struct Ram {
    pieces: [(u64, u64); PIECES_MAX],
    len: usize,
}

impl Ram {
    /// Regions that touch are one piece, whoever has them.
    pub(super) fn of(map: &[MemoryRegion]) -> Self {
        let mut ram = Self {
            pieces: [(0, 0); PIECES_MAX],
            len: 0,
        };
        for r in map.iter().filter(|r| is_ram(r)) {
            match ram.pieces[..ram.len].last_mut() {
                Some(last) if last.1 == r.start => last.1 = r.end,
                _ if ram.len < PIECES_MAX => {
                    ram.pieces[ram.len] = (r.start, r.end);
                    ram.len += 1
                }
                _ => {}
            }
        }
        ram
    }

    /// What is to be mapped.
    pub(super) fn pieces(&self) -> &[(u64, u64)] {
        &self.pieces[..self.len]
    }

    /// Does all of a region lie in one of the pieces?
    pub(super) fn has(&self, r: &MemoryRegion) -> bool {
        self.pieces()
            .iter()
            .any(|&(start, end)| start <= r.start && r.end <= end)
    }
}

fn is_ram(r: &MemoryRegion) -> bool {
    matches!(
        r.kind,
        MemoryRegionKind::Usable | MemoryRegionKind::Bootloader
    )
}

/// Free memory.
pub(super) fn usable(map: &[MemoryRegion]) -> impl Iterator<Item = &MemoryRegion> {
    map.iter().filter(|r| r.kind == MemoryRegionKind::Usable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use MemoryRegionKind::{Bootloader, UnknownBios, Usable};
    use alloc::vec::Vec;

    fn region(start: u64, end: u64, kind: MemoryRegionKind) -> MemoryRegion {
        MemoryRegion { start, end, kind }
    }

    #[test]
    fn regions_that_touch_are_one_piece() {
        let map = [
            region(0x1000, 0x2000, Usable),
            region(0x2000, 0x3000, Bootloader),
            region(0x3000, 0x4000, UnknownBios(2)),
            region(0x4000, 0x9000, Usable),
        ];
        let ram = Ram::of(&map);
        assert_eq!(ram.pieces(), [(0x1000, 0x3000), (0x4000, 0x9000)]);
        assert!(usable(&map).all(|r| ram.has(r)));
        assert!(!ram.has(&map[2]));
    }

    /// Nothing that is not mapped is given away as free memory.
    #[test]
    fn what_lies_in_too_many_pieces_is_left_out() {
        let map: Vec<_> = (1..=100)
            .map(|n| region(n << 32, (n << 32) + 0x20_0000, Usable))
            .collect();
        let ram = Ram::of(&map);
        assert_eq!(ram.pieces().len(), PIECES_MAX);
        let had = usable(&map).filter(|r| ram.has(r)).count();
        assert_eq!(had, PIECES_MAX);
        // One that continues the last piece still fits.
        let end = map[PIECES_MAX - 1].end;
        let more = [&map[..PIECES_MAX], &[region(end, end + 0x1000, Bootloader)]].concat();
        assert_eq!(Ram::of(&more).pieces()[PIECES_MAX - 1].1, end + 0x1000);
    }
}
