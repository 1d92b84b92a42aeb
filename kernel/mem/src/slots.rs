//! Slots whose Gs are gone, on their way back.
//!
//! ```text
//!            readers may still            TLBs may still
//!            look at the dead G           remember its pages
//!  release ─► open ─► grace ──── unmap ──► cooling ─► waiting ─► free ─► take
//!                     stamp                           stamp
//! ```
//!
//! A stamp (`epochs`) is taken when a list is closed; the list moves on when all CPUs have passed it. Unmapping takes time
//! for each slot, so it is done a few at a time. Lists are linked through a word that each slot has outside of its pages.

/// The word that each slot keeps. 0 means that a G lies in it that may be looked at.
pub trait Notes {
    /// The word.
    fn get(&self, slot: u32) -> u64;
    /// Sets it.
    fn set(&self, slot: u32, note: u64);
}

/// A G lies in the slot, and readers find it.
pub const LISTED: u64 = 0;
/// On a list as its last, or not published yet.
pub const UNLISTED: u64 = 1;

/// A list of slots, first in, first out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl List {
    const EMPTY: List = List {
        first: 0,
        last: 0,
        len: 0,
    };

    fn push(&mut self, notes: &impl Notes, slot: u32) {
        notes.set(slot, UNLISTED);
        self.append(
            notes,
            List {
                first: slot,
                last: slot,
                len: 1,
            },
        );
    }

    fn append(&mut self, notes: &impl Notes, other: List) {
        if self.len == 0 {
            *self = other;
        } else if other.len != 0 {
            notes.set(self.last, u64::from(other.first) + 2);
            self.last = other.last;
            self.len += other.len;
        }
    }

    fn pop(&mut self, notes: &impl Notes) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let slot = self.first;
        self.len -= 1;
        if self.len != 0 {
            self.first = (notes.get(slot) - 2) as u32;
        }
        notes.set(slot, UNLISTED);
        Some(slot)
    }
}

/// What a step may ask.
pub trait Clock {
    /// See `Epochs::stamp`.
    fn stamp(&self) -> u64;
    /// See `Epochs::passed`.
    fn passed(&self, stamp: u64) -> bool;
}

/// All slots on their way.
pub struct Slots {
    open: List,
    grace: List,
    grace_stamp: u64,
    cooling: List,
    waiting: List,
    waiting_stamp: u64,
    free: List,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new()
    }
}

impl Slots {
    /// None.
    pub const fn new() -> Self {
        Self {
            open: List::EMPTY,
            grace: List::EMPTY,
            grace_stamp: 0,
            cooling: List::EMPTY,
            waiting: List::EMPTY,
            waiting_stamp: 0,
            free: List::EMPTY,
        }
    }

    /// Takes a slot whose G is dead and on no list. Readers find it no more.
    pub fn release(&mut self, notes: &impl Notes, slot: u32) {
        self.open.push(notes, slot);
    }

    /// A slot whose pages are forgotten by all.
    pub fn take(&mut self, notes: &impl Notes) -> Option<u32> {
        self.free.pop(notes)
    }

    /// Slots on their way, the free ones not among them.
    pub fn pending(&self) -> u32 {
        self.open.len + self.grace.len + self.cooling.len + self.waiting.len
    }

    /// Moves on what can move, and unmaps at most `budget` slots. True: there are more to unmap at once.
    pub fn step(
        &mut self,
        notes: &impl Notes,
        clock: &impl Clock,
        budget: u32,
        mut unmap: impl FnMut(u32),
    ) -> bool {
        if self.waiting.len != 0 && clock.passed(self.waiting_stamp) {
            self.free.append(notes, self.waiting);
            self.waiting = List::EMPTY;
        }
        if self.grace.len == 0 && self.open.len != 0 {
            self.grace = core::mem::replace(&mut self.open, List::EMPTY);
            self.grace_stamp = clock.stamp();
        }
        let unmaps = self.grace.len != 0 && clock.passed(self.grace_stamp);
        if unmaps {
            for _ in 0..budget {
                let Some(slot) = self.grace.pop(notes) else {
                    break;
                };
                unmap(slot);
                self.cooling.push(notes, slot);
            }
        }
        if self.waiting.len == 0 && self.cooling.len != 0 {
            self.waiting = core::mem::replace(&mut self.cooling, List::EMPTY);
            self.waiting_stamp = clock.stamp();
        }
        unmaps && self.grace.len != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epochs::Epochs;
    use std::cell::RefCell;

    struct Words(RefCell<Vec<u64>>);
    impl Notes for Words {
        fn get(&self, slot: u32) -> u64 {
            self.0.borrow()[slot as usize]
        }
        fn set(&self, slot: u32, note: u64) {
            self.0.borrow_mut()[slot as usize] = note;
        }
    }
    impl<const N: usize> Clock for Epochs<N> {
        fn stamp(&self) -> u64 {
            Epochs::stamp(self)
        }
        fn passed(&self, stamp: u64) -> bool {
            Epochs::passed(self, stamp)
        }
    }

    #[test]
    fn a_slot_is_unmapped_after_one_round_and_free_after_two() {
        let (notes, clock) = (Words(RefCell::new(vec![LISTED; 8])), Epochs::<2>::new());
        let mut slots = Slots::new();
        clock.come(0, || {});
        clock.come(1, || {});
        let unmapped = RefCell::new(Vec::new());
        let step =
            |slots: &mut Slots| slots.step(&notes, &clock, 2, |s| unmapped.borrow_mut().push(s));
        for slot in [3, 5, 0] {
            slots.release(&notes, slot);
            assert_ne!(notes.get(slot), LISTED);
        }
        assert!(!step(&mut slots) && unmapped.borrow().is_empty());
        clock.point(0, || {});
        assert!(!step(&mut slots), "one CPU may still look at them");
        clock.point(1, || {});
        slots.release(&notes, 7); // too late for this round
        assert!(step(&mut slots), "the budget was two, there are three");
        assert!(!step(&mut slots));
        assert_eq!(*unmapped.borrow(), [3, 5, 0]);
        assert_eq!((slots.take(&notes), slots.pending()), (None, 4));
        for _ in 0..6 {
            clock.point(0, || {});
            clock.point(1, || {});
            step(&mut slots);
        }
        assert_eq!(slots.pending(), 0);
        let free: Vec<_> = core::iter::from_fn(|| slots.take(&notes)).collect();
        assert_eq!(free, [3, 5, 0, 7]);
        assert!([3, 5, 0, 7].iter().all(|&s| notes.get(s) == UNLISTED));
    }

    #[test]
    fn nothing_is_lost_and_nothing_is_free_too_early() {
        const SLOTS: u32 = 500;
        let (notes, clock) = (
            Words(RefCell::new(vec![LISTED; SLOTS as usize])),
            Epochs::<3>::new(),
        );
        (0..3).for_each(|cpu| clock.come(cpu, || {}));
        let mut slots = Slots::new();
        let mut rng = base::Rng::new(7);
        let (mut used, mut rounds_left) =
            ((0..SLOTS).collect::<Vec<_>>(), vec![0u32; SLOTS as usize]);
        let mut points = [0u32; 3];
        for _ in 0..20_000 {
            match rng.below(4) {
                0 if !used.is_empty() => {
                    let slot = used.swap_remove(rng.below(used.len() as u32) as usize);
                    slots.release(&notes, slot);
                    rounds_left[slot as usize] = *points.iter().min().unwrap();
                }
                1 => {
                    if let Some(slot) = slots.take(&notes) {
                        let all = *points.iter().min().unwrap();
                        assert!(
                            all >= rounds_left[slot as usize] + 2,
                            "slot {slot} was free too early"
                        );
                        notes.set(slot, LISTED);
                        used.push(slot);
                    }
                }
                2 => {
                    let cpu = rng.below(3) as usize;
                    points[cpu] += u32::from(clock.point(cpu, || {}));
                }
                _ => {
                    slots.step(&notes, &clock, rng.below(8), |_| {});
                }
            }
        }
        let mut all = used;
        for _ in 0..1000 {
            (0..3).for_each(|cpu| _ = clock.point(cpu, || {}));
            slots.step(&notes, &clock, 8, |_| {});
        }
        all.extend(core::iter::from_fn(|| slots.take(&notes)));
        all.sort_unstable();
        assert_eq!(all, (0..SLOTS).collect::<Vec<_>>());
    }
}
