//! The ring of one CPU: the newest events, older ones overwritten. Written by its CPU, read by anybody at any time.
//!
//! ```text
//!   index   0 1 2 ... next-capacity | next-capacity+1 ... next-1 | next
//!           overwritten             | whole                      | being written, over the oldest
//! ```
//!
//! No lock. A reader copies an event and then looks at `next` again: if the writer has come around meanwhile, the copy
//! may be torn and is thrown away.

use crate::event::Event;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*, fence};

#[derive(Default)]
struct Slot {
    ns: AtomicU64,
    word: AtomicU64,
}

/// A ring of a power of two of events.
pub struct Ring {
    /// Events ever recorded: index of the next one.
    next: AtomicU64,
    /// On the host, threads of several machines, or of none, may bear the same CPU number and so share a ring.
    writing: AtomicBool,
    slots: Box<[Slot]>,
}

impl Ring {
    /// An empty ring of at least `events` (at least 2) slots.
    pub fn new(events: usize) -> Self {
        let events = events.max(2).next_power_of_two();
        Self {
            next: AtomicU64::new(0),
            writing: AtomicBool::new(false),
            slots: (0..events).map(|_| Slot::default()).collect(),
        }
    }

    fn slot(&self, index: u64) -> &Slot {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }

    /// Records an event. By the ring's CPU alone, preemption off.
    #[inline]
    pub fn push(&self, ns: u64, word: u64) {
        if cfg!(not(ringo_kernel)) {
            while self.writing.swap(true, Acquire) {
                core::hint::spin_loop();
            }
        }
        let index = self.next.load(Relaxed);
        // Pairs with the fence in `get`: who sees a word stored below also sees `next` at `index` or above.
        fence(Release);
        let slot = self.slot(index);
        slot.ns.store(ns, Relaxed);
        slot.word.store(word, Relaxed);
        self.next.store(index + 1, Release); // pairs with the load in `recorded`
        if cfg!(not(ringo_kernel)) {
            self.writing.store(false, Release);
        }
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
        let (ns, word) = (slot.ns.load(Relaxed), slot.word.load(Relaxed));
        fence(Acquire); // pairs with the fence in `push`
        if index < self.oldest() {
            return None;
        }
        Event::unpack(ns, word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Kind, pack};

    fn push(ring: &Ring, n: u64) {
        ring.push(n, pack(Kind::User, 0, n, n as u32));
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
        let done = AtomicBool::new(false);
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
