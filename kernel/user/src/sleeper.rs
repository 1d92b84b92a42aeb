//! One thread of ring 3 while it waits in the kernel: who wakes it, and who makes it look again.
//!
//! What a thread waits for has a list of waiters under a lock (`csp::waitq`), and wakes whom it pops. Beside that somebody may
//! want its attention: it is to end, its time is up, its handle is closed by another thread. Those *nudge* it: it wakes, looks at all that
//! could end its wait, and goes back to sleep if nothing does. So a nudge too many does no harm; one that is lost would.
//!
//! ```text
//!             begin                      park (on g0, list still locked)
//!   any  ─────────────► AWAKE ───────────────────────────► 0: PARKED ──── pop from its list ───► POPPED  ─┐
//!    ▲                    │                                   │                                           │ goready
//!    │                    │ nudge                             └─────────────── nudge ───────► NUDGED ─────┤
//!    │                    ▼                                                                      ▲        │
//!    │                  NUDGED: does not park at all ────────────────────────────────────────────┘        │
//!    └────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! **I-NUDGE** Whoever nudges has said why before (a flag), and `begin` comes before the look at the flags. Both change the word
//! in one step: if the nudge is the earlier one, `begin` sees it, and so the flag; if it is the later one, it finds AWAKE or PARKED.
//!
//! **I-LIST** The word is PARKED only from a moment at which the list is locked, until somebody wins it. A thread that was nudged takes the
//! list's lock before it leaves its frame, so the list never names a waiter that is gone.

use crate::wait::Closing;
use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use base::mutant::{mutant, order};
use base::shim::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};
use base::{PreemptGuard, Rank, SpinGuard, SpinLock};
use core::ptr::null_mut;
use csp::waitq::{WaitQueue, Waiter};
use sched::timer::{Fire, Timer};
use sched::{Commit, G, GRef, WaitReason};

/// Whoever takes the word from here wakes the thread. `csp::waitq` claims a waiter so.
const PARKED: usize = 0;
/// Taken out of its list: the number of the waiter's case, 0, plus one.
const POPPED: usize = 1;
/// It is to look again.
const NUDGED: usize = 2;
/// It looks, or does not wait at all.
const AWAKE: usize = 3;

/// How a wait in a list has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// By whoever popped it.
    Popped,
    /// It is to look again; it is in the list no more.
    Nudged,
}

/// A call that waits by other means than a list, and how it is made to return.
pub trait Interrupt: Send + Sync {
    /// The wait that is under way, or the next one if there is none, ends at once. It does no harm if that is somebody else's: he waits again.
    fn interrupt(&self);
}

/// A thread as one that waits.
pub struct Sleeper {
    word: AtomicUsize,
    /// Its G, from its first wait on.
    g: AtomicPtr<G>,
    /// What it is in that has no list.
    inside: SpinLock<Option<Arc<dyn Interrupt>>>,
    alarm: SpinLock<Option<Arc<Timer>>>,
    rang: AtomicBool,
    /// The [`Closing`] of the handle that it waits on, or null. Never followed.
    waits_on: AtomicPtr<Closing>,
    me: Weak<Sleeper>,
}

impl Sleeper {
    /// One that waits for nothing.
    pub(crate) fn new() -> Arc<Sleeper> {
        Arc::new_cyclic(|me| Sleeper {
            word: AtomicUsize::new(AWAKE),
            g: AtomicPtr::new(null_mut()),
            inside: SpinLock::new(Rank::Channel, None),
            alarm: SpinLock::new(Rank::Channel, None),
            rang: AtomicBool::new(false),
            waits_on: AtomicPtr::new(null_mut()),
            me: me.clone(),
        })
    }

    /// The thread is about to look at what could end its wait. By itself.
    pub(crate) fn begin(&self) {
        self.g.store(sched::current().as_ptr(), Relaxed);
        // Acquire: pairs with the Release of `wake`: I-NUDGE.
        self.word.swap(AWAKE, order("begin_relaxed", AcqRel));
    }

    /// Wakes it if it sleeps; if not, it does not go to sleep before it has looked. From anywhere, g0 included.
    fn wake(&self) {
        let nudge = |word| match word {
            PARKED | AWAKE => Some(NUDGED),
            // Written all the same: I-NUDGE.
            other => Some(other),
        };
        let before = self
            .word
            .fetch_update(order("nudge_relaxed", AcqRel), Acquire, nudge);
        if before == Ok(PARKED) {
            // SAFETY: it sleeps, so its G is there; it was stored before the word became PARKED.
            if let Some(g) = unsafe { GRef::from_ptr(self.g.load(Relaxed)) } {
                sched::goready(g)
            }
        }
    }

    /// It is to look at all that could end its wait, one of which the caller has changed.
    pub(crate) fn nudge(&self) {
        self.wake();
        let inside = self.inside.lock().clone();
        if let Some(inside) = inside {
            inside.interrupt()
        }
    }

    /// The handle that it waits on is that of `closing`. By itself.
    pub(crate) fn set_waits_on(&self, closing: Option<&Closing>) {
        let closing = closing.map_or(null_mut(), |c| (&raw const *c).cast_mut());
        self.waits_on.store(closing, Relaxed) // the count in `closing` orders it
    }

    /// Whether it waits on that handle, or did a moment ago.
    pub(crate) fn waits_on(&self, closing: &Closing) -> bool {
        core::ptr::eq(self.waits_on.load(Relaxed), closing)
    }

    /// From here on nudges reach `call` as well. Before `begin`.
    pub(crate) fn enter_call(&self, call: Arc<dyn Interrupt>) {
        *self.inside.lock() = Some(call)
    }

    /// And no more; one may still be on its way.
    pub(crate) fn leave_call(&self) {
        let call = self.inside.lock().take();
        drop(call)
    }

    /// Sleeps in the list that `queue` finds under `lock`, unless it was nudged since `begin`. The lock is dropped.
    ///
    /// `mark` is what the waiter carries. By the thread itself.
    pub(crate) fn park<T>(
        &self,
        mut guard: SpinGuard<'_, T>,
        queue: impl Fn(&mut T) -> &mut WaitQueue,
        mark: *mut (),
        reason: WaitReason,
    ) -> Woken {
        let w = Waiter::of_select(mark, &self.word, 0);
        // SAFETY: `w` lives in this frame, which is left only once it was popped, or was removed below.
        unsafe { queue(&mut guard).push_back(&w) };
        // SAFETY: the lock's owner outlives `guard`, and this function's caller keeps it.
        let lock = unsafe { &*guard.lock_ptr() };
        let parking = Parking {
            sleeper: self,
            lock,
        };
        guard.leave_locked();
        let commit = Commit {
            f: commit::<T>,
            arg: &raw const parking as usize,
        };
        // SAFETY: the given-up guard held one unit of the count; `commit` releases its lock. `parking` lies in this frame, which is
        // not left before that: by a pop, which needs the lock, or after the lock was had below.
        unsafe { sched::gopark(PreemptGuard::adopt(), reason, commit) };
        // Acquire: pairs with whoever changed it.
        if self.word.load(Acquire) == POPPED {
            return Woken::Popped;
        }
        let mut guard = lock.lock();
        // SAFETY: it is linked here, or was popped by somebody who did not win it.
        unsafe { queue(&mut guard).remove(&w) };
        drop(guard);
        // Between the look and the lock nobody could win it any more: the word is NUDGED.
        Woken::Nudged
    }

    /// Nudges the thread at `when_ns` of [`sched::now_ns`]; [`rang`](Self::rang) tells. By itself, with no lock held.
    pub(crate) fn set_alarm(&self, when_ns: u64) {
        let timer = self.timer();
        timer.stop();
        self.rang.store(false, Relaxed);
        timer.reset(when_ns.min(u64::MAX - 1), 0);
    }

    /// No more.
    pub(crate) fn stop_alarm(&self) {
        self.timer().stop();
    }

    /// Whether the alarm that was set last has gone off.
    pub(crate) fn rang(&self) -> bool {
        self.rang.load(Relaxed) // I-NUDGE orders it
    }

    fn timer(&self) -> Arc<Timer> {
        if let Some(timer) = &*self.alarm.lock() {
            return timer.clone();
        }
        let timer = Timer::new(Box::new(Ring(self.me.clone())));
        *self.alarm.lock() = Some(timer.clone()); // nobody else sets it
        timer
    }
}

/// What the alarm does.
struct Ring(Weak<Sleeper>);

impl Fire for Ring {
    fn fire(&self, _now_ns: u64) -> bool {
        if let Some(sleeper) = self.0.upgrade() {
            sleeper.rang.store(true, Relaxed);
            sleeper.wake()
        }
        true
    }
}

struct Parking<'a, T> {
    sleeper: &'a Sleeper,
    lock: &'a SpinLock<T>,
}

/// Runs on g0, state waiting, the list locked.
///
/// # Safety
/// `arg` is the address of a [`Parking`] whose lock this CPU holds without a guard.
unsafe fn commit<T>(_: GRef, arg: usize) -> bool {
    // SAFETY: the caller's promise; the frame stays until the lock is free (I-LIST).
    let &Parking { sleeper, lock } = unsafe { &*(arg as *const Parking<'_, T>) };
    if mutant("park_unlocks_first") {
        // SAFETY: as below.
        unsafe { lock.force_unlock() }
    }
    // Release: whoever takes the word sees the waiter and the G. Acquire: a nudge.
    let parked = if mutant("park_over_nudge") {
        sleeper.word.swap(PARKED, AcqRel);
        true
    } else {
        let word = &sleeper.word;
        word.compare_exchange(AWAKE, PARKED, AcqRel, Acquire)
            .is_ok()
    };
    if !mutant("park_unlocks_first") {
        // SAFETY: `park` gave the guard up. Nothing of the frame or the sleeper is touched afterwards.
        unsafe { lock.force_unlock() }
    }
    parked
}
