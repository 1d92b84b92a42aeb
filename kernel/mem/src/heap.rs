//! The global allocator of the bare machine.
//!
//! ```text
//!   size, alignment      from                                        lock
//!   up to 2048 bytes     this CPU's magazine of the size class       none
//!                        filled from and flushed to the slab         the class's
//!   up to a page         a page frame, direct map                    none; frames
//!   above                page frames of its own, mapped by `large`     its own; frames
//! ```
//!
//! Magazines and locks hold preemption off, so that a G is never switched away inside; a caller with count 0 may be
//! switched when the guard is dropped. Go's cache belongs to a P; here a P's Gs run on one CPU at a time, and a CPU needs
//! memory while it holds no P as well. Failure is a null pointer, which ends in `alloc`'s fatal "memory allocation of n
//! bytes failed".

use crate::cache::Magazine;
use crate::class::{CLASS_BYTES, class_of, class_of_plain};
use crate::slab::{PageDesc, Pages, Slab};
use crate::{PAGE_BYTES, descs, frames, gstack, large};
use arch::bare;
use base::PreemptGuard;
use base::lock::{Rank, SpinLock};
use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crossbeam_utils::CachePadded;

/// The allocator's name: all of its state is in statics, since there is one.
pub struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

/// A frame for the heap, which leaves those alone that stacks may need.
fn page_frame() -> Option<u64> {
    frames::alloc_above(gstack::kept_frames())
}

/// Slabs are made of page frames; a page has the number of its frame.
struct Frames;
impl Pages for Frames {
    fn alloc(&self) -> Option<u32> {
        page_frame().map(|frame| (frame / PAGE_BYTES as u64) as u32)
    }
    unsafe fn free(&self, page: u32) {
        // SAFETY: as the caller promises.
        unsafe { frames::free(u64::from(page) * PAGE_BYTES as u64) }
    }
    fn memory(&self, page: u32) -> *mut u8 {
        bare::direct(u64::from(page) * PAGE_BYTES as u64)
    }
    fn page_of(&self, address: *mut u8) -> u32 {
        (phys_of(address) / PAGE_BYTES as u64) as u32
    }
    fn desc(&self, page: u32) -> *mut PageDesc {
        descs::find(page).expect("a heap object lies in no RAM")
    }
}

type Class = CachePadded<SpinLock<Slab<Frames>>>;
static SLABS: [Class; CLASS_BYTES.len()] = {
    let mut slabs = [const { CachePadded::new(SpinLock::new(Rank::Heap, Slab::new(0, Frames))) };
        CLASS_BYTES.len()];
    let mut class = 0;
    while class < slabs.len() {
        slabs[class] = CachePadded::new(SpinLock::new(Rank::Heap, Slab::new(class, Frames)));
        class += 1;
    }
    slabs
};

/// One magazine for each class, rounded up to a power of two: the index is a shift.
const MAGAZINES: usize = CLASS_BYTES.len().next_power_of_two();
#[repr(align(256))]
struct Magazines([Magazine; MAGAZINES]);
static MAGAZINES_OF_CPU: [Magazines; arch::MAX_CPUS] =
    [const { Magazines([const { Magazine::new() }; MAGAZINES]) }; arch::MAX_CPUS];

/// Whether magazines are opened at their first use.
static CACHES: AtomicBool = AtomicBool::new(false);

/// Whether each CPU keeps free objects and frames at hand (`mcache=`). Once, at start-up; without this call it does not.
pub fn set_caches(on: bool) {
    CACHES.store(on, Relaxed);
    frames::set_caches(on);
}

fn phys_of(address: *mut u8) -> u64 {
    (address as u64).wrapping_sub(bare::DIRECT_BASE)
}

/// This CPU's magazine of a class.
#[inline(always)]
fn magazine(class: usize, _on_this_cpu: &PreemptGuard) -> &'static Magazine {
    // SAFETY: numbers of CPUs are below `MAX_CPUS`, classes below their count; the fast path is short of instructions.
    unsafe {
        MAGAZINES_OF_CPU
            .get_unchecked(arch::cpu_id())
            .0
            .get_unchecked(class)
    }
}

// The slow paths end in tail calls with the guard handed over: the fast ones then save no registers for them.

#[inline(always)]
fn alloc_small(class: usize) -> *mut u8 {
    let guard = PreemptGuard::new();
    let magazine = magazine(class, &guard);
    let object = magazine.pop(class);
    if object.is_null() {
        return alloc_slow(class, magazine, guard);
    }
    object
}

/// An object from the slab, when the magazine is empty.
#[cold]
#[inline(never)]
fn alloc_slow(class: usize, magazine: &Magazine, _guard: PreemptGuard) -> *mut u8 {
    let mut slab = SLABS[class].lock();
    if !CACHES.load(Relaxed) {
        return slab.alloc();
    }
    if !magazine.is_open() {
        magazine.open(class);
    }
    magazine.refill(class, &mut slab);
    drop(slab);
    magazine.pop(class)
}

/// # Safety
/// The object is of the class and nobody uses it any more.
#[inline(always)]
unsafe fn free_small(class: usize, object: *mut u8) {
    let guard = PreemptGuard::new();
    let magazine = magazine(class, &guard);
    // SAFETY: as the caller promises.
    unsafe {
        if !magazine.push(class, object) {
            free_slow(class, magazine, object, guard)
        }
    }
}

/// An object to the slab, when the magazine has no room.
///
/// # Safety
/// As [`free_small`].
#[cold]
#[inline(never)]
unsafe fn free_slow(class: usize, magazine: &Magazine, object: *mut u8, _guard: PreemptGuard) {
    let mut slab = SLABS[class].lock();
    // SAFETY: as the caller promises.
    unsafe {
        if !CACHES.load(Relaxed) {
            return slab.free(object);
        }
        if magazine.is_open() {
            magazine.flush(class, &mut slab);
        } else {
            magazine.open(class);
        }
        drop(slab);
        magazine.push(class, object);
    }
}

/// A small object with an unusual alignment, a page, or several.
#[inline(never)]
fn alloc_other(layout: Layout) -> *mut u8 {
    match class_of(layout) {
        Some(class) => alloc_small(class),
        None => alloc_pages(layout),
    }
}

/// Takes back what [`alloc_other`] gave.
///
/// # Safety
/// It gave the object for this layout, and nobody uses it any more.
#[inline(never)]
unsafe fn free_other(object: *mut u8, layout: Layout) {
    // SAFETY: as the caller promises.
    unsafe {
        match class_of(layout) {
            Some(class) => free_small(class, object),
            None => free_pages(object, layout),
        }
    }
}

fn fits_page(layout: Layout) -> bool {
    layout.size() <= PAGE_BYTES && layout.align() <= PAGE_BYTES
}

/// A page, or an object of several.
fn alloc_pages(layout: Layout) -> *mut u8 {
    if fits_page(layout) {
        page_frame().map_or(ptr::null_mut(), bare::direct)
    } else {
        large::alloc(layout)
    }
}

/// Takes back what [`alloc_pages`] gave.
///
/// # Safety
/// It gave the object for this layout, and nobody uses it any more.
unsafe fn free_pages(object: *mut u8, layout: Layout) {
    // SAFETY: as the caller promises.
    unsafe {
        if fits_page(layout) {
            frames::free(phys_of(object));
        } else {
            large::free(object, layout);
        }
    }
}

// SAFETY: the memory handed out is of the layout's size and alignment (`class_of`, a page, or `large`), belongs to the
// caller until it is freed, and nothing here unwinds.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class_of_plain(layout) {
            Some(class) => alloc_small(class),
            None => alloc_other(layout),
        }
    }

    #[inline]
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        // SAFETY: the layout is that of the allocation, so the object goes back to where it came from.
        unsafe {
            match class_of_plain(layout) {
                Some(class) => free_small(class, object),
                None => free_other(object, layout),
            }
        }
    }

    unsafe fn realloc(&self, object: *mut u8, old: Layout, new_bytes: usize) -> *mut u8 {
        // SAFETY: the alignment is an old layout's, and the caller promises a size that does not overflow with it.
        let new = unsafe { Layout::from_size_align_unchecked(new_bytes, old.align()) };
        match (class_of(old), class_of(new)) {
            (Some(a), Some(b)) if a == b => return object,
            (None, None) if fits_page(old) && fits_page(new) => return object,
            _ => {}
        }
        // SAFETY: two different objects, the smaller of the two lengths lies in both.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(object, moved, old.size().min(new_bytes));
                self.dealloc(object, old);
            }
            moved
        }
    }
}

/// Where the magazines lie.
pub(crate) fn magazines() -> core::ops::Range<usize> {
    let start = &raw const MAGAZINES_OF_CPU as usize;
    start..start + size_of_val(&MAGAZINES_OF_CPU)
}

/// Each small object that is free and was in use once, and pages of such; right while nobody allocates.
pub(crate) fn for_each_free(mut f: impl FnMut(usize)) {
    for (class, slab) in SLABS.iter().enumerate() {
        let cpus = MAGAZINES_OF_CPU.iter();
        cpus.for_each(|cpu| cpu.0[class].for_each(|object| f(object as usize)));
        slab.lock().for_each_free(|object| f(object as usize));
    }
}

/// What the heap holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapUsage {
    /// Bytes of the pages that belong to size classes.
    pub small_bytes: usize,
    /// Bytes of small objects in use, rounded up to their classes.
    pub small_used_bytes: usize,
    /// Of the small ones, bytes that are free at the hand of some CPU.
    pub cached_bytes: usize,
    /// Bytes backed for large objects.
    pub large_bytes: usize,
    /// Bytes of large objects in use.
    pub large_used_bytes: usize,
}

/// What the heap holds now; exact while no other CPU uses it. Objects of about a page are in no sum, they are frames.
pub fn usage() -> HeapUsage {
    let mut sum = HeapUsage::default();
    for (class, bytes) in CLASS_BYTES.iter().enumerate() {
        let cpus = MAGAZINES_OF_CPU.iter();
        let cached: usize = cpus.map(|cpu| cpu.0[class].len(class)).sum();
        let slab = SLABS[class].lock();
        sum.small_bytes += slab.pages() * PAGE_BYTES;
        sum.small_used_bytes += slab.live().saturating_sub(cached) * bytes;
        sum.cached_bytes += cached * bytes;
    }
    (sum.large_bytes, sum.large_used_bytes) = large::usage();
    sum
}
