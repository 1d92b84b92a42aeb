//! Mapped stacks. The OS backs them page by page as they are touched and never gets them back.
//!
//! G stacks are cut from a few large mappings, since a process may have only some 65 000 mappings: a guard page is a
//! marker inside the mapping where the kernel knows those (Linux 6.13), else a protected page, which costs two mappings.
//! Slots in the order of their making have dense numbers, so that a fault handler finds the slot of an address by
//! arithmetic, without a lock.

use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::Mutex;

/// Bytes of a page.
pub(super) const PAGE_BYTES: usize = 4096;

/// Bytes of the first region; the next ones double up to [`REGION_MAX_BYTES`].
const REGION_MIN_BYTES: usize = 64 << 20;
const REGION_MAX_BYTES: usize = 8 << 30;
const REGIONS_MAX: usize = 512;
/// Guard pages by protection at most, half of Linux' default `vm.max_map_count` with room for everything else.
/// Stacks beyond go without; with markers there is no limit.
const PROTECTED_MAX: usize = 28_000;
/// `madvise` advice of Linux 6.13.
const MADV_GUARD_INSTALL: i32 = 102;

/// The host has no memory, no address space or no mapping left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

/// One G stack of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStack {
    /// Lowest usable address; the page below is the guard.
    pub lo: usize,
    /// End, exclusive, page-aligned.
    pub top: usize,
    /// Number of the slot: dense, from 0, over all machines of the process.
    pub slot: usize,
}

/// A mapping cut into slots of one size.
struct Region {
    start: AtomicUsize,
    end: AtomicUsize,
    slot_bytes: AtomicUsize,
    first_slot: AtomicUsize,
}

#[allow(clippy::declare_interior_mutable_const)] // a template for the array, never used as a constant
const EMPTY: Region = Region {
    start: AtomicUsize::new(0),
    end: AtomicUsize::new(0),
    slot_bytes: AtomicUsize::new(0),
    first_slot: AtomicUsize::new(0),
};
static REGIONS: [Region; REGIONS_MAX] = [EMPTY; REGIONS_MAX];
/// Regions that readers may look at. Its store releases what was written to them before.
static REGION_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Where the next slot is cut.
struct Cutter {
    next: usize,
    slots: usize,
    protected: usize,
}
static CUTTER: Mutex<Cutter> = Mutex::new(Cutter {
    next: 0,
    slots: 0,
    protected: 0,
});

/// Maps `bytes` of stack, the guard page among them: `(lowest usable address, end)`.
pub(super) fn map_guarded(bytes: usize) -> Result<(usize, usize), OutOfMemory> {
    let start = map(bytes)?;
    // SAFETY: the page was just mapped and nobody uses it.
    let failed = unsafe { libc::mprotect(start as *mut _, PAGE_BYTES, libc::PROT_NONE) } != 0;
    if failed {
        return Err(OutOfMemory);
    }
    Ok((start + PAGE_BYTES, start + bytes))
}

/// Maps one G stack of `bytes` in all, the lowest page being its guard; lazily backed by the OS, never unmapped.
///
/// # Errors
/// [`OutOfMemory`] if the host refuses the address space.
///
/// # Panics
/// If `bytes` is no multiple of the page size or below two pages.
pub fn map_stack(bytes: usize) -> Result<HostStack, OutOfMemory> {
    assert!(
        bytes.is_multiple_of(PAGE_BYTES) && bytes >= 2 * PAGE_BYTES,
        "a stack of {bytes} bytes is not made of at least two whole pages"
    );
    let mut cut = CUTTER.lock().unwrap_or_else(|e| e.into_inner());
    let count = REGION_COUNT.load(Relaxed);
    let fits = count.checked_sub(1).map(|i| &REGIONS[i]).is_some_and(|r| {
        r.slot_bytes.load(Relaxed) == bytes && cut.next + bytes <= r.end.load(Relaxed)
    });
    if !fits {
        let (start, end) = new_region(count, bytes)?;
        let region = &REGIONS[count];
        region.start.store(start, Relaxed);
        region.end.store(end, Relaxed);
        region.slot_bytes.store(bytes, Relaxed);
        region.first_slot.store(cut.slots, Relaxed);
        REGION_COUNT.store(count + 1, Release); // pairs with the load in `find`
        cut.next = start;
    }
    let base = cut.next;
    guard(base, &mut cut.protected);
    let slot = cut.slots;
    cut.next += bytes;
    cut.slots += 1;
    Ok(HostStack {
        lo: base + PAGE_BYTES,
        top: base + bytes,
        slot,
    })
}

fn new_region(count: usize, slot_bytes: usize) -> Result<(usize, usize), OutOfMemory> {
    if count == REGIONS_MAX {
        return Err(OutOfMemory);
    }
    let wanted = (REGION_MIN_BYTES << count.min(16)).min(REGION_MAX_BYTES);
    let mut slots = (wanted / slot_bytes).max(1);
    loop {
        match map(slots * slot_bytes) {
            Ok(start) => return Ok((start, start + slots * slot_bytes)),
            Err(e) if slots == 1 => return Err(e),
            Err(_) => slots /= 2, // a limit on the address space: try a smaller one
        }
    }
}

fn map(bytes: usize) -> Result<usize, OutOfMemory> {
    // SAFETY: a fresh private mapping, placed by the kernel, changes nobody's memory.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(OutOfMemory);
    }
    // A huge page would back eight stacks at once.
    // SAFETY: advice on the mapping just made. Where it is not known, nothing is lost.
    unsafe { libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE) };
    Ok(at as usize)
}

/// Makes the page at `base` a guard, if the host can.
fn guard(base: usize, protected: &mut usize) {
    // SAFETY: the page belongs to the slot that is being made; nobody uses it.
    unsafe {
        if libc::madvise(base as *mut _, PAGE_BYTES, MADV_GUARD_INSTALL) != 0
            && *protected < PROTECTED_MAX
            && libc::mprotect(base as *mut _, PAGE_BYTES, libc::PROT_NONE) == 0
        {
            *protected += 1;
        }
    }
}

/// The slot in which `address` lies, and the slot's first address. Takes no lock; for fault handlers too.
fn find(address: usize) -> Option<(usize, usize)> {
    let regions = &REGIONS[..REGION_COUNT.load(Acquire)];
    let region = regions
        .iter()
        .find(|r| (r.start.load(Relaxed)..r.end.load(Relaxed)).contains(&address))?;
    let start = region.start.load(Relaxed);
    let slot_bytes = region.slot_bytes.load(Relaxed);
    let index = (address - start) / slot_bytes;
    Some((
        region.first_slot.load(Relaxed) + index,
        start + index * slot_bytes,
    ))
}

/// Number of the G stack in which an address lies, its guard page included.
pub fn stack_slot_of(address: usize) -> Option<usize> {
    find(address).map(|(slot, _)| slot)
}

/// Whether an address lies in the guard page of a G stack.
pub(super) fn in_guard(address: usize) -> bool {
    find(address).is_some_and(|(_, base)| address < base + PAGE_BYTES)
}
