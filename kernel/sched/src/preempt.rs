//! Preemption (Go: preempt.go, proc.go `gopreempt_m`): what is done at a safe point.
//!
//! The CPU's timer interrupt only sets a bit and injects a call (`arch`: I-PENDING). The call lands here, on the G's
//! stack, with preemption off; so does the drop of the last guard that finds work pending. It goes to g0 like any other
//! switch, serves what is pending, and comes back to the same G or, at the end of its slice, to another.

use crate::g::{GRef, GStatus};
use crate::m::{M, count};
use crate::park::{requeue_running, try_current};
use crate::policy::Event;
use crate::sched::Sched;
use crate::schedule::m_on_g0;
use crate::wakeup::Verdict;
use base::config::Preempt;
use base::shim::Ordering::*;

/// The safe point: the machine layer's upcall. The preemption count is 1.
pub extern "C" fn safe_point() {
    // On g0, and before the scheduler runs, the count never falls to 0; so there is a G.
    if let Some(g) = try_current() {
        // SAFETY: I-SWITCH: the count is 1 (checked on the other side).
        unsafe { arch::mcall(&g.ctx, safe_point_m, 0) }
    }
}

unsafe extern "C" fn safe_point_m(_: usize) -> *const arch::Context {
    let m = m_on_g0();
    let s = m.sched();
    let g = m.curg().expect("a safe point without a G");
    debug_assert_eq!(
        arch::preempt_count(),
        1,
        "I-SWITCH: a safe point with a guard alive"
    );
    match s.at_safe_point(m, g) {
        Some(event) => requeue_running(event),
        None => &g.ctx,
    }
}

/// Every CPU that does not halt takes an interrupt soon: who runs a thread of ring 3 looks whether that one is to end. One that halts looks
/// before it next goes to ring 3.
#[cfg(not(any(ringo_loom, ringo_shuttle)))]
pub fn interrupt_busy() {
    let s = crate::this();
    let busy = s.allm.iter().take(s.mcount() as usize);
    // Pairs with the one in `M::halts`: who seems to halt, and has just woken, sees what the caller has written before.
    core::sync::atomic::fence(SeqCst);
    busy.filter(|m| !m.is_halted()).for_each(M::interrupt)
}

impl Sched {
    /// Serve what is pending. Why `g`, which `m` runs, gives its CPU up; `None`: it goes on.
    #[inline]
    pub(crate) fn at_safe_point(&self, m: &M, g: GRef) -> Option<Event> {
        count(&m.stats.safe_points);
        if g.status() == GStatus::Syscall {
            self.safe_point_in_call(m);
            return None;
        }
        if self.gcwaiting.load(Relaxed) {
            return Some(Event::Stopped);
        }
        if m.tray_len.load(Relaxed) != 0 {
            return Some(Event::YieldedLocally); // the G that is locked to this CPU goes first
        }
        let verdict = m.p().map_or(Verdict::GoOn, |p| self.serve_pending(m, p));
        match verdict {
            Verdict::GoOn => None,
            _ if self.cfg.preempt == Preempt::Off => None,
            Verdict::SliceOver => {
                m.fresh_slice.store(true, Relaxed);
                count(&m.stats.preemptions);
                Some(Event::Preempted)
            }
            Verdict::GiveWay => {
                count(&m.stats.gave_way);
                Some(Event::GaveWay)
            }
            Verdict::BehindOthers => {
                count(&m.stats.gave_way);
                Some(Event::YieldedLocally)
            }
        }
    }
}

/// Give way if the slice is over: for loops without calls on machines or settings that cannot interrupt them
/// (`preempt=coop`, the host machine).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let mut sum = 0u64;
/// for n in 0..100_000 {
///     sum ^= n;
///     sched::checkpoint(); // one load while the slice lasts
/// }
/// assert_eq!(sum, 0);
/// # });
/// ```
#[inline]
pub fn checkpoint() {
    if arch::pending() != 0 {
        drop(base::PreemptGuard::new()) // the drop serves it
    }
}
