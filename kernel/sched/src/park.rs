//! Parking and readying (Go: proc.go, `gopark`, `park_m`, `goready`), yielding (`Gosched`, `goyield`).
//!
//! ```text
//!   G: holds a lock, is on a wait list ── gopark ──► g0: state = waiting ── commit (releases the lock) ── schedule
//!                                                                 │
//!   another CPU: takes the lock, finds the G ── goready ──► state = runnable, queued
//! ```
//!
//! **I-COMMIT** The lock that guards the wait list is released on g0, after the state is `waiting` and nothing runs on the
//! G's stack: who finds the G on the list may ready it at once (Go #40641).

use crate::g::{GRef, GStatus, WaitReason};
use crate::m::M;
use crate::policy::Event;
use crate::sched::Sched;
use crate::schedule::m_on_g0;
use base::mutant::{mutant, planted};
use base::shim::Ordering::*;
use base::{PreemptGuard, SpinGuard, SpinLock};

/// What happens on g0 between "the G waits" and "somebody may find it".
#[derive(Clone, Copy)]
pub struct Commit {
    /// Called with the G and `arg`. False: do not wait after all. After it made the G visible to others it must not touch
    /// the G's stack any more.
    pub f: unsafe fn(GRef, usize) -> bool,
    /// Its argument.
    pub arg: usize,
}

#[derive(Clone, Copy)]
struct ParkArg {
    reason: WaitReason,
    commit: Commit,
}

/// Put the calling G to sleep until [`goready`]. `guard` is the only thing that keeps preemption off; it is used up.
///
/// # Safety
/// `commit.f` may be called with `commit.arg` on g0. Somebody will ready the G, exactly once, or it sleeps for ever.
#[inline(never)] // a backtrace of a parked G begins above this frame
pub unsafe fn gopark(guard: PreemptGuard, reason: WaitReason, commit: Commit) {
    #[cfg(ringo_loom)]
    // SAFETY: the caller's promise.
    return unsafe { crate::models::park_thread(guard, reason, commit) };
    #[cfg(not(ringo_loom))]
    // SAFETY: the caller's promise.
    unsafe {
        park_on_g0(guard, reason, commit)
    }
}

/// # Safety
/// As [`gopark`].
#[cfg(not(ringo_loom))]
#[inline(always)]
unsafe fn park_on_g0(guard: PreemptGuard, reason: WaitReason, commit: Commit) {
    let g = current_on(&guard);
    guard.leave_raised();
    let arg = ParkArg { reason, commit };
    // SAFETY: I-SWITCH: the guard's was the only unit of the count (checked on the other side).
    unsafe { arch::mcall(&g.ctx, park_m, &raw const arg as usize) };
    // SAFETY: the resumed G owns the unit that the scheduler held.
    drop(unsafe { PreemptGuard::adopt() });
}

/// Release `lock` and sleep until [`goready`], with no gap between the two: the usual form, for wait lists.
pub fn park_unlock<T>(lock: SpinGuard<'_, T>, reason: WaitReason) {
    let arg = lock.lock_ptr() as usize;
    lock.leave_locked();
    if mutant("park_unlock_early") {
        // SAFETY: as in `unlock`.
        unsafe { (*(arg as *const SpinLock<T>)).force_unlock() }
    }
    let commit = Commit {
        f: unlock::<T>,
        arg,
    };
    // SAFETY: the given-up guard held one unit of the count; `unlock` releases the lock it held.
    unsafe { gopark(PreemptGuard::adopt(), reason, commit) }
}

unsafe fn unlock<T>(_: GRef, lock: usize) -> bool {
    if mutant("park_unlock_early") {
        return true;
    }
    trace::point!("park.unlock");
    // SAFETY: `park_unlock` passes a lock whose guard it gave up. Its owner keeps it alive while anybody waits on it.
    unsafe { (*(lock as *const SpinLock<T>)).force_unlock() };
    true
}

unsafe extern "C" fn park_m(arg: usize) -> *const arch::Context {
    // SAFETY: `gopark`'s frame; the G has not been made visible yet, so it is still there.
    let arg = unsafe { *(arg as *const ParkArg) };
    let m = m_on_g0();
    let s = m.sched();
    let g = running(m);
    // SAFETY: `gopark`'s promise.
    if unsafe { s.park_running(m, g, arg.reason, arg.commit) } {
        s.schedule(m)
    } else {
        s.execute(m, g, true)
    }
}

/// The G whose scheduling code runs on this g0.
fn running(m: &M) -> GRef {
    assert_eq!(
        arch::preempt_count(),
        1,
        "I-SWITCH: a switch with more than one guard alive"
    );
    assert!(
        m.p().is_some(),
        "a goroutine parks, yields or sleeps inside blocking()"
    );
    m.curg().expect("a switch without a G")
}

impl Sched {
    /// Park the running G; the P of one that is locked to `m` goes to an M that has none. False: it does not wait after all.
    ///
    /// # Safety
    /// As [`gopark`].
    #[inline]
    pub(crate) unsafe fn park_running(
        &self,
        m: &M,
        g: GRef,
        reason: WaitReason,
        commit: Commit,
    ) -> bool {
        let locked = g.locked_to().is_some(); // after the commit it may be anybody's
        let bubble = g.before_park();
        // SAFETY: the caller's promise.
        let waits = unsafe { self.park_and_commit(m, g, reason, commit) };
        if let Some(bubble) = bubble {
            if waits {
                bubble.after_park(m)
            } else {
                g.not_parked()
            }
        }
        if waits && locked {
            self.stoplockedm(m)
        }
        waits
    }

    /// running → waiting, and then the commit, in this order (I-COMMIT). False: it does not wait after all, and is
    /// runnable.
    ///
    /// # Safety
    /// As [`gopark`].
    unsafe fn park_and_commit(&self, m: &M, g: GRef, reason: WaitReason, commit: Commit) -> bool {
        self.dropg(m, g);
        if !mutant("park_after_commit") {
            self.park_g(m, g, reason)
        }
        trace::point!("park.commit");
        // SAFETY: the caller's promise.
        let waits = unsafe { (commit.f)(g, commit.arg) };
        if mutant("park_after_commit") {
            self.park_g(m, g, reason)
        }
        if !waits {
            g.set_status(GStatus::Waiting, GStatus::Runnable);
            g.traced(trace::Kind::GoReady, g.id() as u32)
        }
        waits
    }

    /// running → waiting.
    pub(crate) fn park_g(&self, m: &M, g: GRef, reason: WaitReason) {
        g.set_wait_reason(reason);
        g.traced(trace::Kind::GoPark, reason as u32);
        g.waits_since(m);
        g.stops();
        g.set_status(GStatus::Running, GStatus::Waiting);
    }

    /// waiting → runnable, queued on `m`'s P, and somebody woken for it (Go: `ready`).
    pub(crate) fn ready(&self, m: &M, g: GRef) {
        g.becomes_runnable();
        if !mutant("bubble_count_late") {
            g.counts_again()
        }
        g.set_status(GStatus::Waiting, GStatus::Runnable);
        g.traced(
            trace::Kind::GoReady,
            m.curg().map_or(0, |by| by.id() as u32),
        );
        trace::point!("ready.queue");
        if planted(11) {
            return;
        }
        let woken = m.serving.load(Relaxed);
        self.runqput(m, g, if woken { Event::Woken } else { Event::Ready });
        self.wakep();
        if mutant("bubble_count_late") {
            g.counts_again()
        }
    }
}

/// Make a waiting G runnable: it goes to this P's `runnext`. May be called with locks below the scheduler's held.
///
/// The caller is the one waker of this wait (I-STATE).
pub fn goready(g: GRef) {
    #[cfg(ringo_loom)]
    return crate::models::ready_thread(g);
    #[cfg(not(ringo_loom))]
    ready_here(g)
}

#[cfg(not(ringo_loom))]
#[inline(always)]
fn ready_here(g: GRef) {
    let guard = PreemptGuard::new();
    let m = M::current(&guard);
    m.sched().ready(m, g)
}

/// Let others run: to the end of the global queue (Go: `Gosched`).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use std::{panic::Location, sync::atomic::{AtomicBool, Ordering::*}};
/// static DONE: AtomicBool = AtomicBool::new(false);
/// sched::newproc(|| DONE.store(true, Release), Location::caller());
/// while !DONE.load(Acquire) {
///     sched::yield_now();
/// }
/// # });
/// ```
pub fn yield_now() {
    switch(gosched_m)
}

/// Let those on this P's queue run: to its end (Go: `goyield`). Nothing happens where the caller cannot be switched away:
/// with preemption off, on g0, in a blocking call.
pub fn goyield() {
    if cfg!(ringo_loom) {
        return; // threads of a model run side by side as it is
    }
    let guard = PreemptGuard::new();
    if arch::preempt_count() == 1 && M::current(&guard).p().is_some() {
        switch_under(guard, goyield_m)
    }
}

fn switch(f: unsafe extern "C" fn(usize) -> *const arch::Context) {
    if cfg!(ringo_loom) {
        return; // as in `goyield`
    }
    switch_under(PreemptGuard::new(), f)
}

fn switch_under(guard: PreemptGuard, f: unsafe extern "C" fn(usize) -> *const arch::Context) {
    let g = current_on(&guard);
    guard.leave_raised();
    // SAFETY: I-SWITCH: the guard's was the only unit of the count (checked on the other side).
    unsafe { arch::mcall(&g.ctx, f, 0) };
    // SAFETY: the resumed G owns the unit that the scheduler held.
    drop(unsafe { PreemptGuard::adopt() });
}

unsafe extern "C" fn gosched_m(_: usize) -> *const arch::Context {
    requeue(Event::Yielded)
}
unsafe extern "C" fn goyield_m(_: usize) -> *const arch::Context {
    requeue(Event::YieldedLocally)
}

/// running → runnable, queued, and on to the next.
pub(crate) fn requeue_running(event: Event) -> *const arch::Context {
    requeue(event)
}

/// The same, made anew for each event that is known: a yield then decides nothing about it.
#[inline(always)]
fn requeue(event: Event) -> *const arch::Context {
    let m = m_on_g0();
    let s = m.sched();
    s.requeue(m, running(m), event);
    s.schedule(m)
}

impl Sched {
    /// running → runnable, queued, and somebody woken for it.
    #[inline(always)]
    pub(crate) fn requeue(&self, m: &M, g: GRef, event: Event) {
        self.dropg(m, g);
        if !matches!(event, Event::Yielded | Event::YieldedLocally) {
            g.stops_runnable() // who gives way asks for the wait (docs/adr/0008)
        }
        g.set_status(GStatus::Running, GStatus::Runnable);
        match event {
            Event::Preempted => g.traced(trace::Kind::GoPreempt, 0),
            Event::Stopped => g.traced(trace::Kind::GoPreempt, 1),
            Event::GaveWay => g.traced(trace::Kind::GoPreempt, 2),
            _ => g.traced(trace::Kind::GoYield, 0),
        }
        self.runqput(m, g, event);
        if self.main_started.load(Relaxed) {
            self.wakep()
        }
    }
}

/// The calling G.
///
/// # Panics
/// Outside a goroutine.
#[inline]
pub fn current() -> GRef {
    try_current().expect("called outside a goroutine")
}

/// The calling G, if it is one: null on g0 and before the scheduler runs.
#[inline]
pub fn try_current() -> Option<GRef> {
    #[cfg(not(ringo_loom))]
    let g = arch::curg() as *mut crate::g::G;
    #[cfg(ringo_loom)]
    let g = crate::models::curg();
    // SAFETY: the machine's register holds null or a G (`execute`).
    unsafe { GRef::from_ptr(g) }
}

fn current_on(_guard: &PreemptGuard) -> GRef {
    current()
}
