//! From the loader's memory map, which may overlap and lie in any order, to one that the kernel can walk.

use bootloader_api::info::{MemoryRegion, MemoryRegionKind};

/// Regions that a boot keeps at most. If a map splits into more, the highest addresses are left out.
pub const MAX_REGIONS: usize = 256;

/// One entry as the loader gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    /// First byte.
    pub start: u64,
    /// Length; 0 = the entry says nothing.
    pub bytes: u64,
    /// E820 type: 1 is RAM, everything else is not ours.
    pub kind: u32,
}

impl Raw {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes)
    }
    fn holds(&self, at: u64) -> bool {
        self.start <= at && at < self.end()
    }
}

/// Writes the map to `out`, ascending and without overlaps, and returns how many entries it has.
///
/// Where entries overlap, the more cautious one wins: `taken` over what is not RAM, that over RAM. `taken` ranges appear
/// as `Bootloader` where they lie on RAM. Addresses that no entry names are left out. Usable regions are cut to whole
/// pages of 4 KiB.
pub fn normalise(
    count: usize,
    entry: impl Fn(usize) -> Raw,
    taken: &[(u64, u64)],
    out: &mut [MemoryRegion],
) -> usize {
    let mut n = 0;
    let mut at = 0u64;
    loop {
        // From `at` to the nearest place where any entry starts or ends, all addresses are alike.
        let edge = |e: u64, next: u64| if e > at && e < next { e } else { next };
        let mut next = u64::MAX;
        for i in 0..count {
            let e = entry(i);
            if e.bytes != 0 {
                next = edge(e.end(), edge(e.start, next));
            }
        }
        for &(start, end) in taken {
            next = edge(end, edge(start, next));
        }
        if let Some(kind) = kind_at(at, count, &entry, taken)
            && !push(
                out,
                &mut n,
                MemoryRegion {
                    start: at,
                    end: next,
                    kind,
                },
            )
        {
            return whole_pages(out, n);
        }
        if next == u64::MAX {
            return whole_pages(out, n);
        }
        at = next;
    }
}

fn kind_at(
    at: u64,
    count: usize,
    entry: &impl Fn(usize) -> Raw,
    taken: &[(u64, u64)],
) -> Option<MemoryRegionKind> {
    let mut kind = None;
    for i in 0..count {
        let e = entry(i);
        if e.holds(at) {
            if e.kind != 1 {
                return Some(MemoryRegionKind::UnknownBios(e.kind));
            }
            kind = Some(MemoryRegionKind::Usable);
        }
    }
    if kind.is_some() && taken.iter().any(|&(start, end)| start <= at && at < end) {
        kind = Some(MemoryRegionKind::Bootloader);
    }
    kind
}

fn push(out: &mut [MemoryRegion], n: &mut usize, region: MemoryRegion) -> bool {
    if let Some(last) = out[..*n].last_mut()
        && last.end == region.start
        && last.kind == region.kind
    {
        last.end = region.end;
        return true;
    }
    let Some(slot) = out.get_mut(*n) else {
        return false;
    };
    *slot = region;
    *n += 1;
    true
}

/// Cuts usable regions to whole pages and drops those with none.
fn whole_pages(out: &mut [MemoryRegion], n: usize) -> usize {
    let mut kept = 0;
    for i in 0..n {
        let mut r = out[i];
        if r.kind == MemoryRegionKind::Usable {
            r.start = r.start.checked_add(4095).map_or(r.end, |s| s & !4095);
            r.end &= !4095;
            if r.start >= r.end {
                continue;
            }
        }
        out[kept] = r;
        kept += 1;
    }
    kept
}
