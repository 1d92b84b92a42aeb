//! A P's own run queue: a ring of 256 Gs and `runnext` (Go: proc.go, `runqput`, `runqget`, `runqgrab`, `runqempty`).
//!
//! The owner puts at the tail and gets at the head; thieves take half from the head with one CAS. `head` and `tail` run
//! freely and wrap; the slot is the number modulo the ring's size. `runnext` holds the G that was readied last: it runs
//! next and inherits the slice, so a pair that talks to each other shares one.
//!
//! ```text
//!            head            tail
//!   ┌───┬───┬─▼─┬───┬───┬───┬─▼─┬───┐      ┌─────────┐
//!   │   │   │ a │ b │ c │ d │   │   │      │ runnext │
//!   └───┴───┴───┴───┴───┴───┴───┴───┘      └─────────┘
//!     thieves and owner take ─►  owner puts ─►
//! ```
//!
//! **I-RING** A slot between head and tail holds a queued G; a value read from a slot counts only if the CAS on `head`
//! that follows succeeds.

use crate::g::{G, GRef};
use crate::gqueue::GQueue;
use base::mutant::{mutant, order};
use base::shim::{AtomicPtr, AtomicU32, Ordering::*};

/// Slots of the ring (Go: `len(p.runq)`); small in models, so that it wraps.
pub const RING: usize = if cfg!(any(ringo_loom, ringo_shuttle)) {
    4
} else {
    256
};

/// The ring and `runnext` of one P.
pub struct RunQueue {
    head: AtomicU32,
    tail: AtomicU32,
    runnext: AtomicPtr<G>,
    slots: [AtomicPtr<G>; RING],
}

/// Where the runner finds a queue's words (`glass.rs`).
#[cfg(ringo_kernel)]
impl RunQueue {
    pub(crate) const HEAD: usize = core::mem::offset_of!(RunQueue, head);
    pub(crate) const TAIL: usize = core::mem::offset_of!(RunQueue, tail);
    pub(crate) const RUNNEXT: usize = core::mem::offset_of!(RunQueue, runnext);
    pub(crate) const SLOTS: usize = core::mem::offset_of!(RunQueue, slots);
}

impl RunQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self {
            head: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            runnext: AtomicPtr::new(core::ptr::null_mut()),
            slots: core::array::from_fn(|_| AtomicPtr::new(core::ptr::null_mut())),
        }
    }

    #[inline]
    fn slot(&self, i: u32) -> &AtomicPtr<G> {
        &self.slots[i as usize % RING]
    }

    /// A slot's G.
    ///
    /// I-RING: what is read may be stale, but is always a G that was queued once, and those are never freed.
    #[inline]
    fn read(&self, i: u32) -> *mut G {
        self.slot(i).load(Relaxed)
    }

    /// Owner: put at the tail. A full ring gives the G back: the caller moves half away ([`Self::take_half`]).
    #[inline]
    pub fn put(&self, g: GRef) -> Result<(), GRef> {
        // Acquire: pairs with the CAS (release) in `get`, `grab` and `take_half`: the slot was read before it is written again.
        let h = self.head.load(order("ring_head_relaxed", Acquire));
        let t = self.tail.load(Relaxed);
        if t.wrapping_sub(h) as usize >= RING {
            return Err(g);
        }
        self.slot(t).store(g.as_ptr(), Relaxed);
        // Release: pairs with the load of `tail` (acquire) in `grab`: who sees the number sees the slot.
        self.tail
            .store(t.wrapping_add(1), order("ring_put_relaxed", Release));
        Ok(())
    }

    /// Owner: make `g` the next to run; the one that was there comes back and belongs at the tail.
    #[inline]
    pub fn put_next(&self, g: GRef) -> Option<GRef> {
        // AcqRel: pairs with the CAS of a thief in `grab`, which takes the G over from here.
        let old = self
            .runnext
            .swap(g.as_ptr(), order("runnext_put_relaxed", AcqRel));
        // SAFETY: only Gs are put in.
        unsafe { GRef::from_ptr(old) }
    }

    /// Owner: next G, and whether it inherits the slice (true for `runnext`).
    #[inline]
    pub fn get(&self) -> Option<(GRef, bool)> {
        match self.take_next() {
            Some(g) => Some((g, true)),
            None => self.get_ring().map(|g| (g, false)),
        }
    }

    /// Owner: what is in `runnext`.
    #[inline]
    pub fn take_next(&self) -> Option<GRef> {
        let next = self.runnext.load(Relaxed);
        // A thief may take it meanwhile, but only the owner sets it: one try is enough.
        if next.is_null()
            || self
                .runnext
                .compare_exchange(next, core::ptr::null_mut(), AcqRel, Relaxed)
                .is_err()
        {
            return None;
        }
        // SAFETY: only Gs are put in.
        unsafe { GRef::from_ptr(next) }
    }

    /// Owner: next G of the ring, whatever `runnext` holds.
    #[inline]
    pub fn get_ring(&self) -> Option<GRef> {
        loop {
            // Acquire: pairs with the CAS (release) of other consumers.
            let h = self.head.load(Acquire);
            if h == self.tail.load(Relaxed) {
                return None;
            }
            let g = self.read(h);
            if mutant("ring_get_no_cas") {
                self.head.store(h.wrapping_add(1), Release);
            } else if self
                .head
                .compare_exchange(
                    h,
                    h.wrapping_add(1),
                    order("ring_consume_relaxed", Release),
                    Relaxed,
                )
                .is_err()
            {
                continue;
            }
            // SAFETY: I-RING: the CAS succeeded, so the slot held a queued G.
            return unsafe { GRef::from_ptr(g) };
        }
    }

    /// Owner, ring full: take half of it, to be moved to the global queue (Go: `runqputslow`). None if a thief made
    /// room meanwhile.
    pub fn take_half(&self) -> Option<GQueue> {
        let h = self.head.load(Acquire);
        let n = self.tail.load(Relaxed).wrapping_sub(h) / 2;
        if n as usize != RING / 2 {
            return None;
        }
        let mut batch: [*mut G; RING / 2] = [core::ptr::null_mut(); RING / 2];
        for (i, b) in batch.iter_mut().enumerate() {
            *b = self.read(h.wrapping_add(i as u32));
        }
        trace::point!("runq.overflow");
        if mutant("overflow_no_cas") {
            self.head.store(h.wrapping_add(n), Release);
        } else {
            // Release: pairs with the load of `head` (acquire) in `put`.
            self.head
                .compare_exchange(h, h.wrapping_add(n), Release, Relaxed)
                .ok()?;
        }
        let mut q = GQueue::new();
        for b in batch {
            // SAFETY: I-RING, as in `get`.
            if let Some(g) = unsafe { GRef::from_ptr(b) } {
                q.push_back(g)
            }
        }
        Some(q)
    }

    /// Thief, whose own ring is empty: take Gs from `victim`, half of them or one; the last one taken is returned, the
    /// others lie in this ring. With `runnext`, and nothing in the ring, `runnext` itself is taken.
    pub fn steal_from(&self, victim: &RunQueue, half: bool, runnext: bool) -> Option<(GRef, u32)> {
        let t = self.tail.load(Relaxed);
        let n = self.grab(victim, t, half, runnext)?;
        let n = n - 1;
        let last = self.read(t.wrapping_add(n));
        if n > 0 {
            // Release: pairs with the load of `tail` (acquire) in `grab` of the next thief.
            self.tail
                .store(t.wrapping_add(n), order("ring_put_relaxed", Release));
        }
        // SAFETY: `grab` wrote Gs into the slots from `t` on.
        unsafe { GRef::from_ptr(last) }.map(|g| (g, n + 1))
    }

    /// Copy Gs of `victim` into this ring from slot `t` on, without publishing them; their number, at least 1.
    fn grab(&self, victim: &RunQueue, t: u32, half: bool, runnext: bool) -> Option<u32> {
        loop {
            // Acquire: pairs with the CAS (release) of other consumers.
            let h = victim.head.load(Acquire);
            // Acquire: pairs with the store of `tail` (release) in `put` and `steal_from`.
            let avail = victim
                .tail
                .load(order("ring_tail_relaxed", Acquire))
                .wrapping_sub(h);
            let n = if half {
                avail - avail / 2
            } else {
                avail.min(1)
            };
            if n == 0 {
                return if runnext {
                    self.grab_runnext(victim, t)
                } else {
                    None
                };
            }
            if n as usize > RING / 2 {
                base::shim::spin_loop(); // head and tail were read at different times
                continue;
            }
            for i in 0..n {
                self.slot(t.wrapping_add(i))
                    .store(victim.read(h.wrapping_add(i)), Relaxed)
            }
            trace::point!("runq.steal");
            if mutant("ring_steal_no_cas") {
                victim.head.store(h.wrapping_add(n), Release);
                return Some(n);
            }
            // Release: pairs with the load of `head` (acquire) in `put`.
            if victim
                .head
                .compare_exchange(
                    h,
                    h.wrapping_add(n),
                    order("ring_consume_relaxed", Release),
                    Relaxed,
                )
                .is_ok()
            {
                return Some(n);
            }
        }
    }

    fn grab_runnext(&self, victim: &RunQueue, t: u32) -> Option<u32> {
        let next = victim.runnext.load(Relaxed);
        if next.is_null() {
            return None;
        }
        if mutant("runnext_steal_no_cas") {
            victim.runnext.store(core::ptr::null_mut(), Release);
        } else {
            victim
                .runnext
                .compare_exchange(next, core::ptr::null_mut(), AcqRel, Relaxed)
                .ok()?;
        }
        self.slot(t).store(next, Relaxed);
        Some(1)
    }

    /// Is nothing in it? Right at some instant during the call: `tail` is read twice, so that a G on its way from
    /// `runnext` into the ring is never overlooked (Go: `runqempty`).
    pub fn is_empty(&self) -> bool {
        loop {
            let h = self.head.load(Acquire);
            let t = self.tail.load(Acquire);
            let next = self.runnext.load(Acquire);
            if t == self.tail.load(Acquire) || mutant("runqempty_one_look") {
                return h == t && next.is_null();
            }
        }
    }

    /// Has it a `runnext`? A hint for thieves.
    pub fn has_runnext(&self) -> bool {
        !self.runnext.load(Relaxed).is_null()
    }

    /// Is nothing in the ring, whatever `runnext` holds? A hint for thieves.
    pub fn ring_is_empty(&self) -> bool {
        self.head.load(Relaxed) == self.tail.load(Relaxed)
    }

    /// How many are in the ring, without `runnext`. A hint.
    pub fn len(&self) -> u32 {
        let h = self.head.load(Relaxed);
        self.tail.load(Relaxed).wrapping_sub(h).min(RING as u32)
    }
}

impl Default for RunQueue {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;

    fn g(id: u64) -> GRef {
        let g = GRef::new(Box::leak(Box::new(G::new())));
        g.set_id(id);
        g
    }
    fn drain(q: &RunQueue) -> Vec<u64> {
        std::iter::from_fn(|| q.get())
            .map(|(g, _)| g.id())
            .collect()
    }

    /// Go: proc_test.go, SchedLocalQueue.
    #[test]
    fn fifo_then_empty() {
        let q = RunQueue::new();
        let gs: Vec<_> = (0..256).map(g).collect();
        for n in 0..=256 {
            for g in &gs[..n] {
                q.put(*g).unwrap()
            }
            assert_eq!(drain(&q), (0..n as u64).collect::<Vec<_>>());
            assert!(q.is_empty());
            assert_eq!(q.len(), 0);
        }
    }

    /// Go: proc_test.go, SchedLocalQueueSteal.
    #[test]
    fn steal_half_each_once() {
        let gs: Vec<_> = (0..256).map(g).collect();
        for n in 0..=256usize {
            let (a, b) = (RunQueue::new(), RunQueue::new());
            gs[..n].iter().for_each(|g| a.put(*g).unwrap());
            let mut thief: Vec<u64> = b
                .steal_from(&a, true, false)
                .map(|(g, _)| g.id())
                .into_iter()
                .collect();
            thief.extend(drain(&b));
            let victim = drain(&a);
            assert!(
                thief.len() == n / 2 || thief.len() == n / 2 + 1,
                "{n}: {}",
                thief.len()
            );
            let mut all = [thief, victim].concat();
            all.sort_unstable();
            assert_eq!(all, (0..n as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn steal_one_and_runnext() {
        let (a, b) = (RunQueue::new(), RunQueue::new());
        assert!(a.put_next(g(1)).is_none());
        assert_eq!(a.put_next(g(2)).unwrap().id(), 1);
        assert!(!a.is_empty() && a.has_runnext());
        assert!(b.steal_from(&a, true, false).is_none());
        a.put(g(3)).unwrap();
        a.put(g(4)).unwrap();
        assert_eq!(b.steal_from(&a, false, true).unwrap().0.id(), 3);
        assert_eq!(b.steal_from(&a, false, true).unwrap().0.id(), 4);
        assert_eq!(b.steal_from(&a, false, true).unwrap().0.id(), 2);
        assert!(a.is_empty() && b.is_empty());
    }

    #[test]
    fn runnext_inherits_and_goes_first() {
        let q = RunQueue::new();
        q.put(g(1)).unwrap();
        q.put_next(g(2));
        assert_eq!(q.get().map(|(g, i)| (g.id(), i)), Some((2, true)));
        assert_eq!(q.get().map(|(g, i)| (g.id(), i)), Some((1, false)));
    }

    #[test]
    fn overflow_gives_half_in_order() {
        let q = RunQueue::new();
        for round in 0..3u64 {
            for i in 0..256 {
                q.put(g(round * 1000 + i)).unwrap()
            }
            assert_eq!(q.put(g(9999)).unwrap_err().id(), 9999);
            let mut half = q.take_half().unwrap();
            assert_eq!(half.len(), 128);
            assert_eq!(half.pop().unwrap().id(), round * 1000);
            assert!(q.take_half().is_none(), "no longer full");
            assert_eq!(
                drain(&q),
                (round * 1000 + 128..round * 1000 + 256).collect::<Vec<_>>()
            );
        }
    }
}
