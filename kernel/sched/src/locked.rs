//! Locking a goroutine to its CPU (Go: proc.go, `LockOSThread`, `stoplockedm`, `startlockedm`), where an M is a CPU.
//!
//! A locked G runs on its M only. When it parks and others wait on its P, the P goes to an M without one, so that this M is free
//! for the G when it comes back. Where there is no such M, as always on one CPU, the M goes on with others itself: no M can be
//! made to take the P. When the G is runnable again, whoever finds it on a queue delivers it:
//!
//! ```text
//!   parks, others wait on the P
//!        ├─ an M is idle ──────────────► it gets the P; the G's M idles
//!        └─ none is ───────────────────► the G's M keeps the P and runs the others
//!
//!   found by another M, holding a P
//!        ├─ the G's M is idle ─────────► it gets an idle P, else the finder's own, and runs the G
//!        └─ it is busy, or on its way ─► the G is laid in its tray, its CPU interrupted: it runs the G at its next safe point
//! ```
//!
//! **I-TRAY** A G in an M's tray is runnable and locked to that M. The tray is a queue under the scheduler's lock, since
//! several Gs may be locked to one CPU; an M looks into it before it runs anything else (where a slice has just ended, after those
//! of its P), and under the lock before it idles. `tray_len` is a copy of its length.

use crate::g::{G, GRef};
use crate::m::M;
use crate::park::current;
use crate::sched::{Global, Sched};
use base::PreemptGuard;
use base::mutant::mutant;
use base::shim::Ordering::*;

/// The calling G runs on this CPU only, until as many [`unlock_from_cpu`] were called. A G that ends while it is locked
/// unlocks its CPU.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// sched::lock_to_cpu();
/// for _ in 0..10 {
///     sched::yield_now(); // comes back on the same CPU
/// }
/// sched::unlock_from_cpu();
/// # });
/// ```
pub fn lock_to_cpu() {
    let guard = PreemptGuard::new();
    let m = M::current(&guard);
    let g = current();
    g.lock_count.store(g.lock_count.load(Relaxed) + 1, Relaxed);
    g.lockedm.store(m as *const M as *mut M, Relaxed);
    g.traced(trace::Kind::GoLock, 0)
}

/// Undo one [`lock_to_cpu`]. One too many is harmless.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// sched::lock_to_cpu();
/// sched::lock_to_cpu();
/// sched::unlock_from_cpu(); // still locked, once
/// sched::unlock_from_cpu();
/// # });
/// ```
pub fn unlock_from_cpu() {
    let g = current();
    match g.lock_count.load(Relaxed) {
        0 => {}
        1 => {
            let _owner = PreemptGuard::new(); // events of a G are recorded by its owner
            g.clear_lock();
            g.traced(trace::Kind::GoUnlock, 0)
        }
        n => g.lock_count.store(n - 1, Relaxed),
    }
}

impl G {
    /// No longer locked, whatever the count.
    pub(crate) fn clear_lock(&self) {
        self.lock_count.store(0, Relaxed);
        self.lockedm.store(core::ptr::null_mut(), Relaxed)
    }

    /// The M that it is locked to.
    pub(crate) fn locked_to(&self) -> Option<&'static M> {
        // SAFETY: null or an M, which lives for ever.
        unsafe { self.lockedm.load(Relaxed).as_ref() }
    }
}

impl Sched {
    /// The G that is locked to `m` has parked: `m`'s P goes to an M without P, if there is one and somebody waits for the P
    /// (Go: `stoplockedm`, which always hands it off, since it can create an M).
    #[cold]
    pub(crate) fn stoplockedm(&self, m: &M) {
        let Some(p) = m.p().filter(|p| p.has_work() || self.runqsize() != 0) else {
            return;
        };
        let mut gl = self.lock.lock();
        // A stop of the world counts on this M to give the P up itself; a G in the tray may be the one that has just parked.
        if self.gcwaiting.load(Relaxed) || !gl.trays[m.id()].is_empty() {
            return;
        }
        let Some((to, kept_time)) = self.mget_for(&mut gl, p) else {
            return;
        };
        p.m.store(core::ptr::null_mut(), Relaxed);
        if !mutant("locked_keeps_p") {
            m.set_p(None)
        }
        trace::emit(trace::Kind::Handoff, 0, p.id() as u32);
        self.hand_over(gl, to, p, kept_time)
    }

    /// `m` found a runnable G that is locked to `to`: see that it runs there. `m` may have no P afterwards.
    #[cold]
    pub(crate) fn deliver(&self, m: &M, to: &'static M, g: GRef) {
        let mut gl = self.lock.lock();
        let tray = &mut gl.trays[to.id()];
        tray.push_back(g);
        to.tray_len.store(tray.len(), Relaxed);
        if gl.midle & (1 << to.id()) == 0 {
            drop(gl);
            return to.interrupt();
        }
        let kept_time = gl.poll_m == Some(to.id() as u32);
        self.mleave(&mut gl, to.id());
        let p = self.pidleget(&mut gl, Some(to)).or_else(|| {
            let own = m.p();
            if let Some(p) = own {
                self.releasep(m, p)
            }
            own
        });
        match p {
            Some(p) => self.hand_over(gl, to, p, kept_time),
            None => {
                drop(gl);
                self.notewakeup(to)
            }
        }
    }

    /// The next G of the tray.
    #[inline]
    pub(crate) fn take_tray(&self, m: &M) -> Option<GRef> {
        if m.tray_len.load(Relaxed) == 0 {
            return None;
        }
        let mut gl = self.lock.lock();
        let tray = &mut gl.trays[m.id()];
        let g = tray.pop();
        m.tray_len.store(tray.len(), Relaxed);
        g
    }

    /// `m` is about to idle without a P. What lies in its tray goes back to the global queue if no P is idle: who finds it
    /// there brings a P along. True: something did.
    pub(crate) fn empty_tray(&self, gl: &mut Global, m: &M) -> bool {
        !mutant("tray_kept_without_p") && self.pidle.load(Relaxed) == 0 && self.put_tray_back(gl, m)
    }

    /// What lies in the tray of an M that is being listed as idle goes to the global queue: nobody else looks into the tray
    /// (I-TRAY). True: something did.
    pub(crate) fn put_tray_back(&self, gl: &mut Global, m: &M) -> bool {
        if m.tray_len.load(Relaxed) == 0 {
            return false;
        }
        let Global { runq, trays, .. } = gl;
        runq.append(&mut trays[m.id()]);
        m.tray_len.store(0, Relaxed);
        self.runqsize.store(runq.len(), Release);
        true
    }
}
