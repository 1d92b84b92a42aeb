//! Lists of parked Gs (Go: `sudog` and `waitq` in `runtime/runtime2.go` and `runtime/chan.go`).
//!
//! ```text
//!             push_back              pop (claimed)               goready
//!  on its G's  -------->  linked  ------------------->  owned by  ------->  on its G's
//!  stack only             (lock)                        the waker           stack only
//!                           |                                                   ^
//!                           +-- remove, by its own G (a select that lost here) --+
//! ```
//!
//! A waiter lies on the stack of the G that waits. While it is linked, only the holder of the list's lock touches it;
//! from `pop` until `goready` it belongs to whoever popped it. The G cannot leave its frame before: it is parked, and a
//! G in a `select` unlinks its other waiters under their locks before it goes on.
//!
//! The same list serves whoever else parks Gs so: what blocks the threads of ring 3 (`user`).
//!
//! **I-LINKED** A waiter that goes is in no list. Debug builds and models check it.

use base::mutant::mutant;
use base::shim::{AtomicUsize, Cell, Ordering};
use core::ptr;
use sched::GRef;

/// One G in one list (Go: `sudog`).
pub struct Waiter {
    /// The G that waits.
    pub g: GRef,
    /// Where the value to send lies, or where the received one goes; null where there is none.
    pub elem: *mut (),
    /// Whether the waker did what was waited for: a value changed hands, a lock was handed over. False on `close`.
    pub success: Cell<bool>,
    /// When this G began to wait, for lists that care (`Mutex`). In ns of [`sched::machine_now_ns`].
    pub since_ns: u64,
    /// Whether the G is parked, or will be before the lock is free. False for a while in `Cond::wait`.
    pub asleep: Cell<bool>,
    /// For a `select`: 0 until one of its cases has won, then that case's number plus one. Null outside `select`.
    claim: *const AtomicUsize,
    /// Number of the case in its `select`.
    case: usize,
    linked: Cell<bool>,
    next: Cell<*const Waiter>,
    prev: Cell<*const Waiter>,
}

impl Waiter {
    /// A waiter of the calling G whose value is at `elem`.
    pub fn new(elem: *mut ()) -> Waiter {
        Waiter {
            g: sched::current(),
            elem,
            success: Cell::new(false),
            since_ns: 0,
            asleep: Cell::new(true),
            claim: ptr::null(),
            case: 0,
            linked: Cell::new(false),
            next: Cell::new(ptr::null()),
            prev: Cell::new(ptr::null()),
        }
    }

    /// One of several waiters of the calling G, of which the first to be popped wins `claim`.
    pub fn of_select(elem: *mut (), claim: *const AtomicUsize, case: usize) -> Waiter {
        let mut w = Waiter::new(elem);
        (w.claim, w.case) = (claim, case);
        w
    }

    /// Wins the G for this case. Always true outside `select` (Go: `sg.isSelect` and `selectDone` in `dequeue`).
    fn try_claim(&self) -> bool {
        if self.claim.is_null() {
            return true;
        }
        // SAFETY: the word lies on the waiting G's stack. That G unlinks this waiter, under the lock that the caller
        // holds, before it leaves the frame.
        let claim = unsafe { &*self.claim };
        if mutant("claim_no_cas") {
            let free = claim.load(Ordering::Acquire) == 0;
            if free {
                claim.store(self.case + 1, Ordering::Release)
            }
            return free;
        }
        // Pairs with the load in `select` after the G was woken.
        claim
            .compare_exchange(0, self.case + 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if cfg!(any(debug_assertions, ringo_loom)) {
            // I-LINKED. Its own G's alone by now: in no list, nobody else reaches it.
            assert!(!self.linked.get(), "a waiter goes that is still in a list")
        }
    }
}

/// First in, first out list of waiters (Go: `waitq`). Lives under its owner's lock.
pub struct WaitQueue {
    head: *const Waiter,
    tail: *const Waiter,
}

// SAFETY: the list is only reached through its owner's lock, and what it points to may be touched by the lock's holder
// on any CPU (see the module's text).
unsafe impl Send for WaitQueue {}

impl Default for WaitQueue {
    fn default() -> Self {
        WaitQueue::new()
    }
}

impl WaitQueue {
    /// An empty list.
    pub const fn new() -> WaitQueue {
        WaitQueue {
            head: ptr::null(),
            tail: ptr::null(),
        }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.head.is_null()
    }

    /// The G that has waited longest.
    pub fn first(&self) -> Option<GRef> {
        // SAFETY: null, or a linked waiter, which is alive; the caller has the list, and so its lock.
        unsafe { self.head.as_ref() }.map(|w| w.g)
    }

    /// Adds `w` at the end.
    ///
    /// # Safety
    ///
    /// `w` is in no list and stays alive at its address until it was popped or removed.
    pub unsafe fn push_back(&mut self, w: &Waiter) {
        debug_assert!(!w.linked.get());
        w.linked.set(true);
        w.next.set(ptr::null());
        w.prev.set(self.tail);
        if self.tail.is_null() {
            self.head = w;
        } else {
            // SAFETY: a linked waiter is alive, and we hold the list's lock.
            unsafe { (*self.tail).next.set(w) }
        }
        self.tail = w;
    }

    /// Adds `w` before all others: it has waited before and lost (Go: `queueLifo` of `semacquire1`).
    ///
    /// # Safety
    ///
    /// As for [`push_back`](Self::push_back).
    pub unsafe fn push_front(&mut self, w: &Waiter) {
        debug_assert!(!w.linked.get());
        w.linked.set(true);
        w.prev.set(ptr::null());
        w.next.set(self.head);
        if self.head.is_null() {
            self.tail = w;
        } else {
            // SAFETY: a linked waiter is alive, and we hold the list's lock.
            unsafe { (*self.head).prev.set(w) }
        }
        self.head = w;
    }

    /// Takes `w` out, wherever it stands; nothing happens if it is not linked.
    ///
    /// # Safety
    ///
    /// `w` is linked here or nowhere.
    pub unsafe fn remove(&mut self, w: &Waiter) {
        if !w.linked.replace(false) {
            return;
        }
        let (prev, next) = (w.prev.get(), w.next.get());
        // Both ends are set whatever `w`'s place was: Go once lost its tail here (golang/go #2075).
        // SAFETY: neighbours of a linked waiter are linked, hence alive, and we hold the list's lock.
        unsafe {
            if prev.is_null() {
                self.head = next;
            } else {
                (*prev).next.set(next);
            }
            if next.is_null() {
                self.tail = prev;
            } else {
                (*next).prev.set(prev);
            }
        }
    }

    /// Takes out the first waiter that can be claimed. The caller owns it until it readies its G.
    pub fn pop(&mut self) -> Option<Popped> {
        while !self.head.is_null() {
            let w = self.head;
            // SAFETY: linked, hence alive; it is linked here.
            let claimed = unsafe {
                self.remove(&*w);
                (*w).try_claim()
            };
            if claimed {
                return Some(Popped(w));
            }
            if mutant("pop_stops_at_a_loser") {
                return None;
            }
        }
        None
    }

    /// Takes out the first `n` at most for which `that` holds and which can be claimed, in order. Losers for which it holds go as well.
    pub fn pop_up_to(&mut self, n: usize, that: impl Fn(&Waiter) -> bool) -> Batch {
        let mut batch = Batch {
            list: WaitQueue::new(),
            len: 0,
        };
        let mut next = self.head;
        while batch.len < n && !next.is_null() {
            // SAFETY: linked, hence alive; we hold the list's lock.
            let w = unsafe { &*next };
            next = w.next.get();
            if !that(w) {
                continue;
            }
            // SAFETY: it is linked here.
            unsafe { self.remove(w) };
            if w.try_claim() {
                batch.len += 1;
                // SAFETY: popped, so in no list; its G is parked until we ready it.
                unsafe { batch.list.push_back(w) }
            }
        }
        batch
    }

    /// Takes out all that can be claimed, in order. Those that are not asleep yet get their mark at once and need no
    /// readying.
    pub fn pop_all(&mut self) -> Batch {
        self.pop_all_that(|_| ())
    }

    /// The same; `look` sees each of them.
    pub fn pop_all_that(&mut self, look: impl Fn(&Popped)) -> Batch {
        let mut batch = Batch {
            list: WaitQueue::new(),
            len: 0,
        };
        while let Some(w) = self.pop() {
            look(&w);
            if w.waiter().asleep.get() {
                batch.len += 1;
                // SAFETY: popped, so in no list; its G is parked until we ready it.
                unsafe { batch.list.push_back(&*w.0) }
            } else {
                w.succeed();
            }
        }
        batch
    }
}

/// A waiter that was popped: its G is parked, and so is there, until it is readied. One that is not asleep yet (`Cond::wait`)
/// is there as long as the list's lock is held, which it takes before it goes on.
#[must_use = "its G sleeps until it is readied"]
pub struct Popped(*const Waiter);

impl Popped {
    /// The waiter.
    pub fn waiter(&self) -> &Waiter {
        // SAFETY: its G is parked, and only we may ready it; or we hold the lock (see the type).
        unsafe { &*self.0 }
    }

    /// Marks the wait as successful and returns the G that is to be readied. Nothing of the waiter may be touched
    /// once it is ready.
    pub fn succeed(self) -> GRef {
        self.waiter().success.set(true);
        self.waiter().g
    }

    /// The G, without the mark.
    pub fn fail(self) -> GRef {
        self.waiter().g
    }
}

/// Waiters that were popped together, to be readied after the lock was dropped.
#[must_use = "their Gs sleep until they are readied"]
pub struct Batch {
    list: WaitQueue,
    len: usize,
}

impl Batch {
    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Readies all, first in first out. `success` is what they see.
    pub fn ready(mut self, success: bool) {
        // They are claimed already: taken off by hand, since `pop` would claim again.
        while !self.list.head.is_null() {
            let w = self.list.head;
            // SAFETY: its G is parked until the `goready` below; nothing of it is touched afterwards.
            let g = unsafe {
                self.list.remove(&*w);
                (*w).success.set(success);
                (*w).g
            };
            sched::goready(g);
            if mutant("batch_readies_one") {
                return;
            }
        }
    }
}

/// Readies `g` with preemption off from before `unlock` on, so that the wake-up is not held up by this G losing its
/// CPU in between.
#[inline]
pub fn unlock_then_ready<T>(guard: base::SpinGuard<'_, T>, g: GRef) {
    let off = base::PreemptGuard::new();
    drop(guard);
    sched::goready(g);
    drop(off);
}

#[cfg(test)]
mod tests;
