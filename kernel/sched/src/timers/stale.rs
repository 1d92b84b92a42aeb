//! Stale entries: what timers leave behind that were stopped or set to an earlier time (Go: time.go, `timers.zombies`, `check`,
//! `adjust`, `take`).
//!
//! They are counted by the heap that has them (I-HOME), and taken out together once they are many, so that each costs a constant on
//! the average.

use super::{Entry, Heap, Timers, What};
use base::shim::Ordering::*;

extern crate alloc;
use alloc::vec::Vec;

/// So many stale entries may stay in a heap, however few others are there.
const STALE_MIN: i32 = 16;

impl Timers {
    /// An entry of this heap became stale.
    pub(crate) fn count_stale(&self) {
        self.stale.fetch_add(1, AcqRel);
    }

    /// Take stale entries out if they are many: they would stay until their deadlines (Go: `timers.check`).
    pub(crate) fn clean(&self) {
        let stale = self.stale.load(Relaxed);
        if stale <= STALE_MIN || stale <= self.len.load(Relaxed) as i32 / 4 {
            return;
        }
        let mut h = self.heap.lock();
        let stale = if self.has_many_stale(&h) {
            self.take_stale(&mut h)
        } else {
            Vec::new()
        };
        self.publish(&h);
        drop(h);
        stale.into_iter().for_each(|e| e.what.release());
    }

    /// A stale entry is gone.
    pub(crate) fn uncount_stale(&self) {
        self.stale.fetch_sub(1, AcqRel);
    }

    pub(super) fn has_many_stale(&self, h: &Heap) -> bool {
        let stale = self.stale.load(Relaxed);
        stale > STALE_MIN && stale > h.entries.len() as i32 / 4
    }

    /// Take out all stale entries (Go: `timers.adjust` with `force`).
    pub(super) fn take_stale(&self, h: &mut Heap) -> Vec<Entry> {
        let (stale, rest) = core::mem::take(&mut h.entries)
            .into_iter()
            .partition::<Vec<_>, _>(Entry::is_stale);
        self.stale.fetch_sub(stale.len() as i32, AcqRel);
        for e in rest {
            h.entries.push(e);
            let last = h.entries.len() - 1;
            h.sift_up(last)
        }
        stale
    }

    /// Move all timers to `other`, which is another P's; stale ones go no further. No lock is held.
    pub(crate) fn move_to(&self, other: &'static Timers) {
        let taken = {
            let mut h = self.heap.lock();
            let taken = core::mem::take(&mut h.entries);
            self.publish(&h);
            taken
        };
        for e in taken {
            let What::Timer(of) = &e.what else {
                other.push(e.when_ns, e.what);
                continue;
            };
            let timer = of.0.clone();
            let timer_locked = timer.new_home(of.1, other);
            if timer_locked.is_some() {
                other.push(e.when_ns, e.what);
                drop(timer_locked);
                timer.release(); // the last one by now, if it has fired there
                continue;
            }
            drop(timer_locked);
            drop(timer); // not the last: `release` needs that one
            self.uncount_stale();
            e.what.release()
        }
    }
}
