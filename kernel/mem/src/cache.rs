//! A few free objects of one size class at one CPU's hand (Go: runtime/mcache.go, `mcache.alloc`).
//!
//! ```text
//!   alloc ◄── magazine ◄── half a magazine ── slab of all CPUs
//!   free  ──►          ── half a magazine ──►
//! ```
//!
//! A magazine is touched by its CPU alone, with preemption off, so it needs no lock and no atomic step; its fields are
//! atomics because others read them for reports. Half at a time: a program whose need swings about the edge of a full or
//! an empty magazine goes to the slab once in half a magazine, not every time.
//!
//! With `mcache=off` magazines stay as they are born, empty and without room: every call then takes the slow path, and
//! the fast one pays nothing for the switch.

use crate::class::CLASS_BYTES;
use crate::slab::{Pages, Slab, mark_free, unmark};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Bytes that a magazine holds at most, but for very small and very large objects.
const FULL_BYTES: usize = 8192;

const CAPACITY: [u8; CLASS_BYTES.len()] = {
    let mut table = [0; CLASS_BYTES.len()];
    let mut class = 0;
    while class < table.len() {
        let n = FULL_BYTES / CLASS_BYTES[class]; // 4 at least
        table[class] = if n > 64 { 64 } else { n as u8 };
        class += 1;
    }
    table
};

/// Objects that a magazine of a class holds at most.
pub fn capacity(class: usize) -> usize {
    CAPACITY[class].into()
}

/// Free objects of one class and one CPU.
pub struct Magazine {
    /// Last freed object; the first word of each is the next one.
    head: AtomicPtr<usize>,
    /// Objects that it still takes.
    room: AtomicUsize,
}

impl Default for Magazine {
    fn default() -> Self {
        Self::new()
    }
}

impl Magazine {
    /// An empty magazine without room.
    pub const fn new() -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
            room: AtomicUsize::new(0),
        }
    }

    /// Gives it room. For its owner, while it is empty.
    pub fn open(&self, class: usize) {
        self.room.store(capacity(class), Relaxed);
    }

    /// An object; null if it is empty. For its owner.
    #[inline(always)]
    pub fn pop(&self, class: usize) -> *mut u8 {
        let object = self.head.load(Relaxed);
        if !object.is_null() {
            // SAFETY: free objects belong to the magazine, and `push` or `refill` wrote their first words.
            unsafe {
                self.head.store(object.read() as *mut usize, Relaxed);
                unmark(class, object);
            }
            self.room.store(self.room.load(Relaxed) + 1, Relaxed);
        }
        object.cast()
    }

    /// Takes an object; false if there is no room. For its owner.
    ///
    /// # Safety
    /// It is an object of the class and nobody uses it any more.
    #[inline(always)]
    pub unsafe fn push(&self, class: usize, object: *mut u8) -> bool {
        let room = self.room.load(Relaxed);
        if room == 0 {
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe {
            mark_free(class, object.cast());
            self.push_marked(object.cast());
        }
        true
    }

    /// # Safety
    /// As `push`; there is room, and the object bears its mark.
    #[inline(always)]
    unsafe fn push_marked(&self, object: *mut usize) {
        // SAFETY: the object is the magazine's now.
        unsafe { object.write(self.head.load(Relaxed) as usize) };
        self.head.store(object, Relaxed);
        self.room.store(self.room.load(Relaxed) - 1, Relaxed);
    }

    /// Fills an open magazine to one half, or as far as the slab can.
    pub fn refill<P: Pages>(&self, class: usize, slab: &mut Slab<P>) {
        let missing = self.room.load(Relaxed).saturating_sub(capacity(class) / 2);
        slab.take_many(missing, |object| {
            // SAFETY: a free object of the class, marked.
            unsafe { self.push_marked(object) }
        });
    }

    /// Gives objects back until at most half of the magazine is full.
    pub fn flush<P: Pages>(&self, class: usize, slab: &mut Slab<P>) {
        while self.room.load(Relaxed) < capacity(class).div_ceil(2) {
            let object = self.head.load(Relaxed);
            if object.is_null() {
                return; // not open
            }
            // SAFETY: free objects of the magazine came from this slab.
            unsafe {
                self.head.store(object.read() as *mut usize, Relaxed);
                slab.put(object);
            }
            self.room.store(self.room.load(Relaxed) + 1, Relaxed);
        }
    }

    /// Each free object, while its CPU does nothing.
    pub fn for_each(&self, mut f: impl FnMut(*mut usize)) {
        let mut object = self.head.load(Relaxed);
        while !object.is_null() {
            f(object);
            // SAFETY: free objects belong to the magazine, and have their successors in their first words.
            object = unsafe { object.read() } as *mut usize
        }
    }

    /// Whether it has room or objects.
    pub fn is_open(&self) -> bool {
        self.room.load(Relaxed) != 0 || !self.head.load(Relaxed).is_null()
    }

    /// Objects that it holds, for reports.
    pub fn len(&self, class: usize) -> usize {
        if self.is_open() {
            capacity(class).saturating_sub(self.room.load(Relaxed))
        } else {
            0
        }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.head.load(Relaxed).is_null()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slab::tests::Fake;

    #[test]
    fn goes_to_the_slab_by_halves() {
        for class in 0..CLASS_BYTES.len() {
            let fake = Fake::new(64);
            let mut slab = Slab::new(class, &fake);
            let magazine = Magazine::new();
            let full = capacity(class);
            assert!(full >= 4 && magazine.pop(class).is_null());
            magazine.open(class);
            assert_eq!((magazine.len(class), magazine.is_empty()), (0, true));
            magazine.refill(class, &mut slab);
            let half = full - full / 2;
            assert_eq!((magazine.len(class), slab.live()), (half, half));
            let out: Vec<_> = (0..full)
                .map(|_| {
                    if magazine.is_empty() {
                        magazine.refill(class, &mut slab);
                    }
                    magazine.pop(class)
                })
                .collect();
            // SAFETY: handed out above, each pushed once.
            let mut left = out
                .into_iter()
                .filter(|&o| !unsafe { magazine.push(class, o) });
            let more = left.next().unwrap_or_else(|| slab.alloc());
            assert_eq!((magazine.len(class), left.next()), (full, None));
            magazine.flush(class, &mut slab);
            assert_eq!(magazine.len(class), full / 2);
            // SAFETY: handed out above.
            unsafe { slab.free(more) };
            assert_eq!(slab.live(), full / 2);
        }
    }

    #[test]
    fn a_closed_magazine_takes_nothing() {
        let fake = Fake::new(1);
        let mut slab = Slab::new(3, &fake);
        let magazine = Magazine::new();
        let object = slab.alloc();
        // SAFETY: an object that nobody uses.
        assert!(!unsafe { magazine.push(3, object) });
        magazine.flush(3, &mut slab);
        magazine.refill(3, &mut slab);
        assert_eq!(
            (magazine.len(3), magazine.is_open(), slab.live()),
            (0, false, 1)
        );
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "freed twice")]
    fn a_second_free_is_caught() {
        let fake = Fake::new(1);
        let mut slab = Slab::new(3, &fake);
        let magazine = Magazine::new();
        magazine.open(3);
        let object = slab.alloc();
        // SAFETY: a lie, that is the test.
        unsafe {
            magazine.push(3, object);
            magazine.push(3, object);
        }
    }
}
