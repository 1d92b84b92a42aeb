//! Hand-off: a G that occupies its CPU in a blocking call gives its P to others (Go: proc.go, `entersyscall`,
//! `exitsyscall`, `entersyscallblock`, `retake`, `handoffp`), where Ms cannot be created.
//!
//! ```text
//!   P's call word:        entersyscall                     exitsyscall: still ours, go on
//!            NONE ──────────────────────────► by M n ──────────────────────────────────► NONE
//!                                               │
//!                    sysmon, a stop of the world│ retake: whoever wins the CAS owns the P
//!                                               ▼
//!                                             NONE ── handoffp ──► an M without P, or the idle list, or *stranded*
//!
//!   exitsyscall, P gone:  the old P if it is idle or stranded, else any such P, else the G to the global queue and the
//!                         M idles
//! ```
//!
//! While the G is in the call its M holds no P, so what it readies goes to the global queue, and parking is a mistake that
//! is named. The CPU is interrupted as usual: `in_call.rs`.
//!
//! **I-CALL** A P whose call word names an M is on no list; that M and a retaker race for it by one CAS. The name keeps an M that
//! comes back late from the P of somebody else's call, begun on it since.
//!
//! **Stranded.** With as many Ms as CPUs there may be nobody to take a P that has work. Its Gs and timers move to where
//! others find them, and it counts as neither idle nor running until an M comes free.

use crate::g::{GRef, GStatus};
use crate::m::M;
use crate::p::P;
use crate::park::current;
use crate::sched::{Global, Sched};
use crate::schedule::m_on_g0;
use base::config::Preempt;
use base::mutant::mutant;
use base::shim::{Ordering::*, fence};
use base::{PreemptGuard, SpinGuard};

/// No call.
pub(crate) const NONE: u32 = 0;
/// What the call word of `m`'s P holds while `m` runs a G that is in a blocking call, and the P may be retaken; never [`NONE`].
pub(crate) fn call_by(m: &M) -> u32 {
    m.id() as u32 + 1
}

/// Run `f`, which occupies this CPU without running Gs: polled I/O, a long computation outside the scheduler's rules. Its
/// P goes to others after a while. `f` must not park, sleep, yield, set timers, end its G or change `gomaxprocs`; it may ready goroutines and start some.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// // Goroutines that are ready run meanwhile, on another CPU.
/// let sum = sched::blocking(|| (1..=1000).sum::<u64>());
/// assert_eq!(sum, 500_500);
/// # });
/// ```
pub fn blocking<T>(f: impl FnOnce() -> T) -> T {
    if cfg!(ringo_kernel) {
        entersyscall()
    } else {
        entersyscallblock() // no sysmon there to take the P later
    }
    let result = f();
    exitsyscall();
    result
}

/// Begin a blocking call (Go: `reentersyscall`). Paired with [`exitsyscall`]; calls do not nest.
///
/// # Panics
/// If the G is in a call already.
pub fn entersyscall() {
    let guard = PreemptGuard::new();
    let m = M::current(&guard);
    m.sched().enter_call(m, current())
}

/// The same where the caller knows that the call will last: the P is handed off at once (Go: `entersyscallblock`).
pub fn entersyscallblock() {
    entersyscall();
    let guard = PreemptGuard::new();
    let m = M::current(&guard);
    let s = m.sched();
    if s.cfg.handoff
        && let Some(p) = m.oldp()
        && s.retake_p(p)
    {
        s.handoffp(p)
    }
}

/// Is the caller in a blocking call?
pub fn in_call() -> bool {
    current().status() == GStatus::Syscall
}

/// End a blocking call: go on at once with the P that is still there or with another, or wait for one.
pub fn exitsyscall() {
    let guard = PreemptGuard::new();
    let m = M::current(&guard);
    let s = m.sched();
    let g = current();
    if s.exit_call(m, g) {
        return; // the guard's drop serves what came meanwhile
    }
    guard.leave_raised();
    // SAFETY: I-SWITCH: the guard's was the only unit of the count.
    unsafe { arch::mcall(&g.ctx, exitsyscall0, 0) };
    // SAFETY: the resumed G owns the unit that the scheduler held.
    drop(unsafe { PreemptGuard::adopt() });
}

/// No P for the G: it waits in the global queue, and the M for a P (Go: `exitsyscall0`).
unsafe extern "C" fn exitsyscall0(_: usize) -> *const arch::Context {
    let m = m_on_g0();
    let s = m.sched();
    let g = m.curg().expect("exitsyscall without a G");
    assert_eq!(
        arch::preempt_count(),
        1,
        "I-SWITCH: a blocking call ended with a guard alive"
    );
    s.dropg(m, g);
    s.wait_for_p(g);
    s.schedule(m)
}

/// Record an event for each P of a mask.
pub(crate) fn emit_for_each(kind: trace::Kind, ps: u64) {
    if trace::is_on() {
        let each = (0..u64::BITS).filter(|p| ps & 1 << p != 0);
        each.for_each(|p| trace::emit(kind, 0, p))
    }
}

impl Sched {
    /// running → in a call; from here on the P may be retaken.
    pub(crate) fn enter_call(&self, m: &M, g: GRef) {
        let p = m.p().expect("entersyscall inside a blocking call");
        g.traced(trace::Kind::GoSyscall, 0);
        g.stops();
        g.set_status(GStatus::Running, GStatus::Syscall);
        p.syscalltick
            .store(p.syscalltick.load(Relaxed).wrapping_add(1), Relaxed);
        m.set_oldp(p);
        m.set_p(None);
        self.open_window(g);
        trace::point!("syscall.enter");
        // Release: pairs with the CAS (acquire) in `retake_p`: who takes the P sees its queue and timers.
        p.call.store(call_by(m), Release);
    }

    /// Let the CPU's timer come through for the time of the call where it interrupts nothing else (`preempt=coop|off`): the
    /// P's timers and sysmon are its work, and nothing switches in a call. Elsewhere it comes through anyway.
    fn open_window(&self, g: GRef) {
        if self.cfg.preempt != Preempt::Async {
            // SAFETY: preemption is off; the window is the running G's stack.
            unsafe { arch::set_window(g.window.0.load(Relaxed), g.window.1.load(Relaxed)) }
        }
    }

    /// The end of it.
    fn close_window(&self) {
        if self.cfg.preempt != Preempt::Async {
            // SAFETY: preemption is off; there is nothing in an empty window.
            unsafe { arch::set_window(0, 0) }
        }
    }

    /// In a call → running, if there is a P for it.
    pub(crate) fn exit_call(&self, m: &M, g: GRef) -> bool {
        trace::point!("syscall.exit");
        self.close_window();
        let old = m.oldp().expect("exitsyscall without entersyscall");
        let over = m.over_in_call.swap(false, Relaxed);
        let same_p = self.reenter(m, old);
        if same_p && over {
            arch::raise_pending(arch::PENDING_PREEMPT) // served at the drop of the caller's guard
        }
        let has_p = same_p || self.exit_with_idle_p(m, old);
        if has_p {
            if m.tray_len.load(Relaxed) != 0 {
                arch::raise_pending(arch::PENDING_RESCHED) // who delivered it has interrupted the call: likewise
            }
            g.traced(
                trace::Kind::GoSyscallExit,
                m.p().map_or(0, |p| p.id() as u32 * 2 + 1),
            );
            g.set_status(GStatus::Syscall, GStatus::Running)
        }
        has_p
    }

    /// In a call → runnable, in the global queue.
    pub(crate) fn wait_for_p(&self, g: GRef) {
        g.becomes_runnable();
        g.set_status(GStatus::Syscall, GStatus::Runnable);
        g.traced(trace::Kind::GoSyscallExit, 0);
        self.globrunqput(g);
        self.wakep()
    }

    /// Take the P of the call that `m` is in, if it is still there.
    pub(crate) fn reenter(&self, m: &M, p: &'static P) -> bool {
        let whose = if mutant("reenter_anybodys") {
            p.call.fetch_add(0, Relaxed) // an RMW sees the newest
        } else {
            call_by(m)
        };
        // AcqRel: pairs with `retake_p`: one of the two gets it.
        let ours = whose != NONE
            && p.call
                .compare_exchange(whose, NONE, AcqRel, Relaxed)
                .is_ok();
        if ours {
            m.set_p(Some(p))
        }
        ours
    }

    /// Take the P of a call away from its M: true if the caller owns it now (Go: `retake`'s part for syscalls).
    pub(crate) fn retake_p(&self, p: &P) -> bool {
        let whose = p.call.load(Relaxed);
        let got = whose != NONE
            && p.call
                .compare_exchange(whose, NONE, AcqRel, Relaxed)
                .is_ok()
            || mutant("retake_no_cas");
        if got {
            p.m.store(core::ptr::null_mut(), Relaxed);
            trace::emit(trace::Kind::Retake, 0, p.id() as u32)
        }
        got
    }

    /// The call's P is gone: the old one if it is free again, else any free one.
    fn exit_with_idle_p(&self, m: &M, old: &'static P) -> bool {
        let mut gl = self.lock.lock();
        let p = self
            .take_this_p(&mut gl, old)
            .or_else(|| self.take_free_p(&mut gl, m));
        drop(gl);
        if let Some(p) = p {
            self.acquirep(m, p)
        }
        p.is_some()
    }

    fn take_this_p(&self, gl: &mut Global, p: &'static P) -> Option<&'static P> {
        let bit = 1 << p.id();
        if gl.stranded & bit != 0 {
            gl.stranded &= !bit;
            return Some(p);
        }
        let idle = self.pidle.load(Relaxed);
        if idle & bit == 0 {
            return None;
        }
        self.pidle.store(idle & !bit, Relaxed);
        trace::emit(trace::Kind::ProcTake, 0, p.id() as u32);
        Some(p)
    }

    /// An idle P, or a stranded one.
    pub(crate) fn take_free_p(&self, gl: &mut SpinGuard<'_, Global>, m: &M) -> Option<&'static P> {
        self.pidleget(gl, Some(m)).or_else(|| {
            let i = gl.stranded.trailing_zeros() as usize;
            (gl.stranded != 0).then(|| {
                gl.stranded &= !(1 << i);
                self.p_static(i)
            })
        })
    }

    /// The M of the P that the caller owns is busy elsewhere: find it another, or a place (Go: `handoffp`).
    pub(crate) fn handoffp(&self, p: &'static P) {
        trace::point!("handoff.p");
        self.hand_on(self.lock.lock(), p)
    }

    /// sysmon: take the P of a call and hand it on, if it is still there.
    ///
    /// Both under one hold of the lock: sysmon may be the work of an M that is listed as idle, and a P that nobody has and no
    /// list shows would look to `checkdead` as if the machine had none left.
    pub(crate) fn retake_and_hand_on(&self, p: &'static P) -> bool {
        trace::point!("handoff.p");
        if mutant("retake_then_lock") {
            let got = self.retake_p(p);
            if got {
                self.handoffp(p)
            }
            return got;
        }
        let gl = self.lock.lock();
        let got = self.retake_p(p);
        if got {
            self.hand_on(gl, p)
        }
        got
    }

    /// An M that is idle, the idle list, or where others find its work.
    fn hand_on(&self, mut gl: SpinGuard<'_, Global>, p: &'static P) {
        trace::emit(trace::Kind::Handoff, 0, p.id() as u32);
        let work = p.has_work() || self.runqsize() != 0;
        let nobody_looks = self.nmspinning() + self.npidle() == 0;
        if self.gcwaiting.load(Relaxed) {
            return self.stands(&mut gl, p);
        }
        if (work || nobody_looks || !p.timers.is_empty())
            && let Some((m, kept_time)) = self.mget_for(&mut gl, p)
        {
            return self.hand_over(gl, m, p, kept_time);
        }
        if !p.has_work() && p.timers.is_empty() {
            p.idle_begins();
            self.list_idle(&mut gl, p);
            drop(gl);
            return self.wakep();
        }
        self.strand(gl, p)
    }

    /// An idle M, off the list, and whether it kept the time.
    pub(crate) fn mget_for(&self, gl: &mut Global, p: &P) -> Option<(&M, bool)> {
        let keeper = gl.poll_m;
        let m = self.mget(gl, p)?;
        Some((m, keeper == Some(m.id() as u32)))
    }

    /// `m`, which is off the idle list, gets `p`, which has work for it. If it kept the time for idle Ps, another idle M must, or
    /// `p` does itself (I-TIMEKEEPER): this M may be busy for long.
    pub(crate) fn hand_over(
        &self,
        gl: SpinGuard<'_, Global>,
        m: &M,
        p: &'static P,
        kept_time: bool,
    ) {
        let others = gl.midle != 0;
        m.nextp.store(p as *const P as *mut P, Release); // pairs with `take_nextp`
        drop(gl);
        if kept_time && !others {
            let idle = self.pidle.load(Relaxed);
            for q in self.allp.iter().filter(|q| idle & 1 << q.id() != 0) {
                if !q.timers.is_empty() {
                    q.timers.move_to(&p.timers) // its CPU's timer is armed when it acquires `p`
                }
            }
        }
        self.notewakeup(m);
        if kept_time && others {
            self.wakep()
        }
    }

    /// No M is free: what the P holds goes where others find it.
    fn strand(&self, mut gl: SpinGuard<'_, Global>, p: &'static P) {
        let mut q = p.drain();
        gl.runq.append(&mut q);
        self.runqsize.store(gl.runq.len(), Release);
        gl.stranded |= 1 << p.id();
        drop(gl);
        if p.timers.is_empty() {
            return;
        }
        if let Some(to) = self.running_p() {
            p.timers.move_to(&to.timers);
            self.timers_came(to)
        }
    }

    /// A P whose M can be told of timers: one that runs Gs, else one in a call, which serves its timers too.
    pub(crate) fn running_p(&self) -> Option<&'static P> {
        let mut all = self.allp.iter().filter(|p| p.is_running());
        let first = all.clone().next()?;
        let p = all.find(|p| p.call.load(Relaxed) == NONE).unwrap_or(first);
        Some(self.p_static(p.id()))
    }

    /// For a timer that is set by somebody without a P, who calls [`Self::timers_came`] afterwards.
    pub(crate) fn p_for_timers(&self) -> &'static P {
        self.running_p().unwrap_or(self.p_static(0))
    }

    /// Timers were added to those of `to`, which is not the caller's: somebody is to look at them in time.
    pub(crate) fn timers_came(&self, to: &P) {
        fence(SeqCst); // pairs with I2 (`idle.rs`): we see that its M has left, or that M sees the timers
        match to.holder() {
            Some(m) => m.interrupt(), // its CPU's timer may have to be armed anew
            None => self.wakep(),
        }
        self.wake_timekeeper(to.timers.min_when_ns()) // where busy CPUs do not look at their timers
    }

    /// An M without P comes free: stranded Ps are idle ones from here on, for it to be given.
    pub(crate) fn unstrand(&self, gl: &mut Global) {
        if gl.stranded != 0 {
            let stranded = gl.stranded;
            let ps = self.allp.iter().filter(|p| stranded & (1 << p.id()) != 0);
            ps.for_each(P::idle_begins);
            self.pidle
                .store(self.pidle.load(Relaxed) | gl.stranded, Relaxed);
            emit_for_each(trace::Kind::ProcIdle, gl.stranded);
            gl.stranded = 0
        }
    }
}
