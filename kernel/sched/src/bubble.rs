//! Bubbles: goroutines with a clock of their own, which jumps to the next timer when all of them are durably blocked (Go:
//! runtime/synctest.go, package testing/synctest).
//!
//! *Durably* means that only another G of the bubble, or its clock, can go on with it: on a channel that was made inside, in a
//! sleep, on a condition, a group or a join. A mutex, a device, a channel from outside are not: somebody else may be at work.
//!
//! ```text
//!   active > 0   the clock stands still
//!   active = 0   somebody waits in `wait`? it goes on
//!                a timer can wake somebody? the clock goes there, and it fires
//!                neither: the bubble is stuck, `run` panics
//! ```
//!
//! **I-ACTIVE** `active` is at least the number of the bubble's Gs that are not durably blocked. Who blocks is counted out after
//! all that its waiting needs is in place, who is readied is counted in before it is queued; so at 0 nobody of the bubble runs or
//! is about to, and whoever brings it to 0 looks what is to be done. Who ends is counted out of `total` before: at 0 those that
//! are left in `total` are blocked.

use crate::g::{GRef, WaitReason};
use crate::m::M;
use crate::park::{current, park_unlock, try_current};
use crate::timers::{NEVER, Timers};
use base::mutant::mutant;
use base::shim::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use base::{PreemptGuard, Rank, SpinGuard, SpinLock};
use core::panic::Location;

extern crate alloc;
use alloc::sync::Arc;

/// A bubble.
pub struct Bubble {
    id: u64,
    pub(crate) timers: Timers,
    now_ns: AtomicU64,
    /// I-ACTIVE.
    active: AtomicU32,
    /// Gs that exist in it.
    total: AtomicU32,
    /// The first G as long as it lives: its address, which nobody follows.
    root: AtomicUsize,
    /// It is over: all its Gs have ended, or it got stuck. Set under the lock of `state`.
    over: AtomicBool,
    state: SpinLock<State>,
}

struct State {
    /// An M moves the clock.
    busy: bool,
    /// The first G has ended: time stands still from then on.
    root_ended: bool,
    /// Who waits in [`wait`].
    waiter: Option<GRef>,
    /// Who waits in [`run`], outside.
    outside: Option<GRef>,
    /// If it got stuck, how.
    stuck: Option<&'static str>,
}

static NEXT_ID: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(1);

/// The bubble of a G: a strong count of it, or null.
pub(crate) struct InBubble(AtomicPtr<Bubble>);

impl InBubble {
    pub(crate) fn none() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&Bubble> {
        // SAFETY: null, or a bubble of which a count is held here; only the G's owner changes it.
        unsafe { self.0.load(Relaxed).as_ref() }
    }

    fn arc(&self) -> Option<Arc<Bubble>> {
        let p = self.0.load(Relaxed);
        // SAFETY: as in `get`; the count is one more for the result.
        (!p.is_null()).then(|| unsafe {
            Arc::increment_strong_count(p);
            Arc::from_raw(p)
        })
    }

    /// Where it lies: for those who follow pointers.
    #[cfg(ringo_kernel)]
    pub(crate) fn address(&self) -> usize {
        self.0.load(Relaxed) as usize
    }

    fn set(&self, bubble: Option<Arc<Bubble>>) -> Option<Arc<Bubble>> {
        let new = bubble.map_or(core::ptr::null_mut(), |b| Arc::into_raw(b).cast_mut());
        let old = self.0.load(Relaxed);
        self.0.store(new, Relaxed); // its owner's: nobody changes it in between
        // SAFETY: the count that was held here.
        (!old.is_null()).then(|| unsafe { Arc::from_raw(old) })
    }
}

impl Drop for InBubble {
    fn drop(&mut self) {
        drop(self.set(None))
    }
}

impl GRef {
    /// The G waits for something of its bubble, if it is in one. For the G itself, right before it parks.
    #[inline]
    pub fn blocks_durably(&self) {
        if self.bubble.get().is_some() {
            self.durable.store(true, Relaxed)
        }
    }

    /// It is born into this bubble. For its creator.
    pub(crate) fn enter_bubble(&self, bubble: Option<Arc<Bubble>>) {
        if let Some(b) = &bubble {
            if b.total.fetch_add(1, Relaxed) == 0 {
                b.root.store(self.as_ptr() as usize, Relaxed) // nobody else is in it
            }
            b.active.fetch_add(1, AcqRel);
        }
        self.bubble.set(bubble);
    }

    /// It has ended, and what its end does for others is done.
    #[inline]
    pub(crate) fn leave_bubble(&self, m: &M) {
        if let Some(b) = self.bubble.set(None) {
            // However it has ended: also by `goexit`.
            if b.root.load(Relaxed) == self.as_ptr() as usize {
                b.root.store(0, Relaxed);
                b.state.lock().root_ended = true
            }
            b.left(m)
        }
    }

    /// It is about to park. The answer is for [`Bubble::after_park`].
    #[inline]
    pub(crate) fn before_park(&self) -> Option<Arc<Bubble>> {
        if self.durable.load(Relaxed) {
            self.bubble.arc()
        } else {
            None
        }
    }

    /// It does not park after all.
    pub(crate) fn not_parked(&self) {
        self.durable.store(false, Relaxed)
    }

    /// It is runnable again: for its waker.
    #[inline]
    pub(crate) fn counts_again(&self) {
        if self.durable.load(Relaxed) {
            self.durable.store(false, Relaxed);
            if let Some(b) = self.bubble.get() {
                b.active.fetch_add(1, AcqRel);
            }
        }
    }
}

/// The bubble that the caller is in: as a G, or as a timer of it that fires.
pub(crate) fn of_caller(m: &M) -> Option<Arc<Bubble>> {
    if m.serving.load(Relaxed) {
        m.serving_bubble.arc()
    } else {
        m.curg()?.bubble.arc()
    }
}

/// Number of the bubble that the calling G is in; 0: none, or no G.
#[inline]
pub fn current_id() -> u64 {
    try_current()
        .and_then(|g| g.bubble.get().map(|b| b.id))
        .unwrap_or(0)
}

/// Would the calling G, by readying a G that waits, interfere with a bubble that it is not in? One that is over cares no more.
pub fn is_foreign(waiting: GRef) -> bool {
    let its = waiting.bubble.get().filter(|b| !b.over.load(Relaxed));
    its.is_some_and(|b| b.id != current_id())
}

/// What time it is in the calling G's bubble.
pub(crate) fn now_ns() -> Option<u64> {
    let g = try_current()?;
    Some(g.bubble.get()?.now_ns.load(Acquire))
}

/// Run `f` as the first G of a new bubble; returns when all its Gs have ended (Go: `synctest.Test`).
///
/// # Panics
/// Inside a bubble; and if the bubble gets stuck, with Go's words.
pub fn run(f: impl FnOnce() + Send + 'static, at: &'static Location<'static>) {
    assert!(current_id() == 0, "a bubble inside a bubble");
    crate::clock::note_bubble();
    let bubble = Bubble::new(crate::now_ns());
    let guard = PreemptGuard::new();
    let me = current();
    me.bubble.set(Some(bubble.clone())); // whom the new G inherits it from
    crate::newproc(f, at);
    drop(me.bubble.set(None));
    drop(guard);
    let mut state = bubble.state.lock();
    if bubble.over.load(Relaxed) {
        drop(state)
    } else {
        state.outside = Some(me);
        park_unlock(state, WaitReason::SynctestRun)
    }
    let stuck = bubble.state.lock().stuck;
    bubble.timers.clear(); // they hold the bubble
    if let Some(how) = stuck {
        panic!("deadlock: {how}")
    }
}

/// Wait until all other Gs of the bubble are durably blocked (Go: `synctest.Wait`).
///
/// # Panics
/// Outside of bubbles, and if another G waits so already.
pub fn wait() {
    let me = current();
    let bubble = me.bubble.arc().expect("wait outside of a bubble");
    let mut state = bubble.state.lock();
    assert!(
        state.waiter.is_none(),
        "wait is already under way in this bubble"
    );
    state.waiter = Some(me);
    me.blocks_durably();
    park_unlock(state, WaitReason::SynctestWait)
}

impl Bubble {
    /// One of its Gs has parked durably, and may have been readied again; no lock is held.
    pub(crate) fn after_park(self: Arc<Self>, m: &M) {
        let last = if mutant("bubble_look_then_count") {
            let last = self.active.load(Acquire) == 1;
            self.active.fetch_sub(1, AcqRel);
            last
        } else {
            // AcqRel: pairs with itself: the last one sees what the others left behind.
            self.active.fetch_sub(1, AcqRel) == 1
        };
        if last {
            self.idle(m)
        }
    }

    fn new(now_ns: u64) -> Arc<Bubble> {
        Arc::new(Bubble {
            id: NEXT_ID.fetch_add(1, Relaxed),
            timers: Timers::new(),
            now_ns: AtomicU64::new(now_ns),
            active: AtomicU32::new(0),
            total: AtomicU32::new(0),
            root: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            state: SpinLock::new(
                Rank::Join,
                State {
                    busy: false,
                    root_ended: false,
                    waiter: None,
                    outside: None,
                    stuck: None,
                },
            ),
        })
    }

    fn left(self: Arc<Self>, m: &M) {
        let early = mutant("bubble_left_active_first") && self.active.fetch_sub(1, AcqRel) == 1;
        // In this order: at `active` 0 (acquire, in `idle`) whoever has left is out of `total`.
        let last = self.total.fetch_sub(1, AcqRel) == 1;
        let nobody_active = early || self.active.fetch_sub(1, AcqRel) == 1;
        if last {
            self.finish(self.state.lock(), m)
        } else if nobody_active {
            self.idle(m)
        }
    }

    /// It is over: who waits outside goes on.
    fn finish(&self, mut state: SpinGuard<'_, State>, m: &M) {
        self.over.store(true, Relaxed);
        let outside = state.outside.take();
        drop(state);
        if let Some(g) = outside {
            m.sched().ready(m, g)
        }
    }

    /// Nobody is active: see the table above. On g0, no lock held.
    #[cold]
    fn idle(self: &Arc<Self>, m: &M) {
        loop {
            let mut state = self.state.lock();
            if state.busy || self.active.load(Acquire) != 0 || self.total.load(Acquire) == 0 {
                return;
            }
            if let Some(g) = state.waiter.take() {
                g.counts_again(); // under the lock: who looks next sees somebody active (I-ACTIVE)
                drop(state);
                return m.sched().ready(m, g);
            }
            state.busy = true;
            let root_ended = state.root_ended;
            drop(state);
            let next_ns = if root_ended {
                NEVER
            } else {
                self.timers.first_that_wakes_ns()
            };
            if next_ns != NEVER {
                self.advance(m, next_ns)
            }
            let mut state = self.state.lock();
            state.busy = false;
            if next_ns == NEVER {
                state.stuck = Some(if root_ended {
                    "main bubble goroutine has exited but blocked goroutines remain"
                } else {
                    "all goroutines in bubble are blocked"
                });
                return self.finish(state, m);
            }
        }
    }

    /// The clock goes to `to_ns`; what is due on the way fires at its time.
    fn advance(self: &Arc<Self>, m: &M, to_ns: u64) {
        let (serving, outer) = (
            m.serving.swap(true, Relaxed),
            m.serving_bubble.set(Some(self.clone())),
        );
        self.timers.run_until(to_ns, |ns| {
            self.now_ns.fetch_max(ns, AcqRel);
        });
        self.now_ns.fetch_max(to_ns, AcqRel);
        drop(m.serving_bubble.set(outer));
        m.serving.store(serving, Relaxed)
    }
}

/// For models: Gs of a bubble as plain data.
#[cfg(ringo_loom)]
impl Bubble {
    /// A bubble with these Gs in it.
    pub fn model(gs: &[GRef]) -> Arc<Bubble> {
        let bubble = Bubble::new(0);
        for g in gs {
            g.enter_bubble(Some(bubble.clone()))
        }
        bubble
    }

    /// A G that ran has ended.
    pub fn model_left(self: &Arc<Self>, m: &M) {
        self.clone().left(m)
    }

    /// What an M that has moved the clock does next.
    pub fn model_look(self: &Arc<Self>, m: &M) {
        self.idle(m)
    }

    /// How it got stuck, if it did.
    pub fn model_stuck(&self) -> Option<&'static str> {
        self.state.lock().stuck
    }

    /// `g` waits until all others are blocked: what `wait` does up to the switch. If it is `parked`, before the threads of
    /// the model start, it is counted out.
    pub fn model_waits(&self, g: GRef, parked: bool) {
        self.state.lock().waiter = Some(g);
        if parked {
            self.active.fetch_sub(1, AcqRel);
        }
    }
}
