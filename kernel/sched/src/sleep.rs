//! `sleep`: a timer that readies the sleeper (Go: time.go, `timeSleep`, `goroutineReady`).

use crate::clock::now_ns;
use crate::g::{G, GRef, WaitReason};
use crate::m::M;
use crate::p::P;
use crate::park::{Commit, gopark};
use crate::sched::Sched;
use crate::schedule::m_on_g0;
use crate::timers::{NEVER, TimerFn};
use base::PreemptGuard;

/// Sleep for at least `ns` nanoseconds. 0 returns at once.
pub fn sleep_ns(ns: u64) {
    if ns != 0 {
        sleep_until_ns(now_ns().saturating_add(ns))
    }
}

/// Sleep until the clock shows `deadline_ns`, or to the end of its range.
pub fn sleep_until_ns(deadline_ns: u64) {
    let deadline_ns = deadline_ns.min(NEVER - 1); // I-END of `timer.rs`
    let commit = Commit {
        f: arm_sleep,
        arg: deadline_ns as usize,
    };
    crate::park::current().blocks_durably();
    // SAFETY: the timer that `arm_sleep` adds readies the G once.
    unsafe { gopark(PreemptGuard::new(), WaitReason::Sleep, commit) }
}

/// On g0, state waiting: only now may the timer fire.
pub(crate) unsafe fn arm_sleep(g: GRef, deadline_ns: usize) -> bool {
    let m = m_on_g0();
    if let Some(b) = g.bubble.get() {
        // SAFETY: the G waits for this timer alone, and its bubble lives as long as it does.
        unsafe {
            b.timers
                .add(deadline_ns as u64, goroutine_ready, g.as_ptr() as usize)
        };
        return true;
    }
    // SAFETY: the G waits for this timer alone.
    unsafe {
        m.sched()
            .add_timer(m, deadline_ns as u64, goroutine_ready, g.as_ptr() as usize)
    };
    true
}

impl Sched {
    /// Add a timer to `m`'s P, and see to it that somebody looks at it in time.
    ///
    /// # Safety
    /// `f(arg, _)` may be called once, by any M.
    pub(crate) unsafe fn add_timer(&self, m: &M, when_ns: u64, f: TimerFn, arg: usize) {
        let p = m.p().expect("a goroutine sleeps inside blocking()");
        // SAFETY: the caller's promise.
        if unsafe { p.timers.add(when_ns, f, arg) } {
            self.earlier_timer(m, p, when_ns)
        }
    }

    /// A timer was added to `m`'s P and is its earliest.
    pub(crate) fn earlier_timer(&self, m: &M, p: &P, when_ns: u64) {
        trace::point!("timer.add");
        self.arm(m, p);
        self.wake_timekeeper(when_ns)
    }
}

unsafe fn goroutine_ready(g: usize, _now_ns: u64) {
    let m = m_on_g0();
    // SAFETY: `arm_sleep` passed a G, never freed.
    if let Some(g) = unsafe { GRef::from_ptr(g as *mut G) } {
        m.sched().ready(m, g)
    }
}
