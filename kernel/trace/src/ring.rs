//! The ring of one CPU: the newest events, older ones overwritten. Written by its CPU, read by anybody at any time.
//!
//! ```text
//!   index   0 1 2 ... next-capacity | next-capacity+1 ... next-1 | next
//!           overwritten             | whole                      | being written, over the oldest
//! ```
//!
//! No lock. A reader copies an event and then looks at `next` again: if the writer has come around meanwhile, the copy
//! may be torn and is thrown away.
//!
//! The runner reads rings too, from outside, by [`Layout`]. It sorts the events of all CPUs by time and so has to know up
//! to when it has all of them: `writing` is 1 from before the clock is read until the event is there.

use crate::event::{Event, stamp};
use alloc::boxed::Box;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::*, fence};

#[derive(Default)]
#[repr(C)]
struct Slot {
    stamp: AtomicU64,
    word: AtomicU64,
}

/// A ring of a power of two of events.
pub struct Ring {
    /// Events ever recorded: index of the next one.
    next: AtomicU64,
    /// An event is being recorded. A lock on the host, where threads of several machines, or of none, may bear the same
    /// CPU number and so share a ring.
    writing: AtomicU64,
    capacity: u64,
    first_slot: u64,
    slots: Box<[Slot]>,
}

/// Where in a ring its words lie, in bytes. A slot is two words: stamp and packed word.
#[derive(Clone, Copy, Debug)]
pub struct Layout;

impl Layout {
    /// Events ever recorded.
    pub const NEXT: usize = offset_of!(Ring, next);
    /// Whether one is being recorded.
    pub const WRITING: usize = offset_of!(Ring, writing);
    /// Number of slots.
    pub const CAPACITY: usize = offset_of!(Ring, capacity);
    /// Address of the first slot.
    pub const FIRST_SLOT: usize = offset_of!(Ring, first_slot);
}

impl Ring {
    /// An empty ring of at least `events` (at least 2) slots.
    pub fn new(events: usize) -> Self {
        let events = events.max(2).next_power_of_two();
        let slots: Box<[Slot]> = (0..events).map(|_| Slot::default()).collect();
        Self {
            next: AtomicU64::new(0),
            writing: AtomicU64::new(0),
            capacity: events as u64,
            first_slot: slots.as_ptr() as u64,
            slots,
        }
    }

    fn slot(&self, index: u64) -> &Slot {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }

    /// Records an event at the time that `clock_ns` tells. By the ring's CPU alone, preemption off.
    #[inline]
    pub fn push(&self, clock_ns: impl FnOnce() -> u64, seq: u32, word: u64) {
        if cfg!(not(ringo_kernel)) {
            while self.writing.swap(1, Acquire) == 1 {
                core::hint::spin_loop();
            }
        } else {
            self.writing.store(1, Relaxed);
            // Stores stay in order on x86 and the clock is read after earlier loads; this keeps the compiler from moving it.
            core::sync::atomic::compiler_fence(SeqCst);
        }
        let ns = clock_ns();
        let index = self.next.load(Relaxed);
        // Pairs with the fence in `get`: who sees a word stored below also sees `next` at `index` or above.
        fence(Release);
        let slot = self.slot(index);
        slot.stamp.store(stamp(ns, seq), Relaxed);
        slot.word.store(word, Relaxed);
        self.next.store(index + 1, Release); // pairs with the load in `recorded`
        self.writing.store(0, Release); // pairs with the swap above, and with the runner's read before it reads `next`
    }

    /// Events ever recorded.
    pub fn recorded(&self) -> u64 {
        self.next.load(Acquire)
    }

    /// Index of the oldest event that nobody overwrites at this instant.
    pub fn oldest(&self) -> u64 {
        (self.recorded() + 1).saturating_sub(self.slots.len() as u64)
    }

    /// The event with this index; `None` if it was overwritten or is yet to come.
    pub fn get(&self, index: u64) -> Option<Event> {
        if index >= self.recorded() {
            return None;
        }
        let slot = self.slot(index);
        let (stamp, word) = (slot.stamp.load(Relaxed), slot.word.load(Relaxed));
        fence(Acquire); // pairs with the fence in `push`
        if index < self.oldest() {
            return None;
        }
        Event::unpack(stamp, word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Kind, pack};

    fn push(ring: &Ring, n: u64) {
        ring.push(|| n, 0, pack(Kind::User, 0, n, n as u32));
    }

    #[test]
    fn keeps_the_newest() {
        let ring = Ring::new(8);
        assert_eq!((ring.oldest(), ring.get(0)), (0, None));
        for n in 0..1000 {
            push(&ring, n);
            assert_eq!(ring.recorded(), n + 1);
            let first = ring.oldest();
            assert_eq!(first, (n + 2).saturating_sub(8));
            for i in first..=n {
                let event = ring.get(i).unwrap();
                assert_eq!((event.ns, u64::from(event.goid)), (i, i));
            }
            assert_eq!(ring.get(n + 1), None);
            assert!(first == 0 || ring.get(first - 1).is_none());
        }
    }

    #[test]
    fn a_reader_beside_the_writer_sees_whole_events_only() {
        let ring = Ring::new(16);
        let done = core::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                (0..2_000_000).for_each(|n| push(&ring, n));
                done.store(true, Release);
            });
            let (mut seen, mut lost) = (0u64, 0u64);
            while !done.load(Acquire) {
                for i in ring.oldest()..ring.recorded() {
                    match ring.get(i) {
                        Some(event) => {
                            assert_eq!(event.ns, i);
                            assert_eq!(event.goid, i as u32);
                            assert_eq!(event.arg, (i as u32).min(crate::event::ARG_MAX));
                            seen += 1;
                        }
                        None => lost += 1,
                    }
                }
            }
            println!("{seen} events read whole, {lost} overwritten meanwhile");
            assert!(seen > 0);
        });
    }

    #[test]
    fn writers_that_share_a_ring_on_the_host_lose_nothing() {
        let ring = Ring::new(1 << 15);
        std::thread::scope(|s| {
            for t in 0..3 {
                let ring = &ring;
                s.spawn(move || (0..10_000).for_each(|n| push(ring, t * 10_000 + n)));
            }
        });
        let mut all: Vec<_> = (0..30_000).map(|i| ring.get(i).unwrap().goid).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..30_000));
    }
}
