//! sysmon, so far in its smallest form: every 10 ms, while anybody is busy, it looks whether a runnable G waits beside an
//! idle P, or a timer is overdue that nobody watches, and wakes an M. With everything else right it finds nothing; the
//! wake-up tests run without it, since a safety net hides the holes (Go #60693).
//!
//! It is work of CPU 0's timer: of the busy M0 in its slice check, or of the idle M0, which arms its timer for it as long
//! as others are busy. When a look finds all idle it rests (`sysmonwait`) until somebody becomes busy.

use crate::m::M;
use crate::sched::Sched;
use crate::timers::NEVER;
use base::shim::{Ordering::*, fence};

/// Time between two looks (Go's longest).
const PERIOD_NS: u64 = 10_000_000;
/// A timer that is this late is not just about to be run.
const OVERDUE_NS: u64 = 2_000_000;

impl Sched {
    /// When the idle M0 has to look: NEVER for the others, or at rest.
    pub(crate) fn sysmon_deadline(&self, m: &M) -> u64 {
        if cfg!(not(ringo_kernel))
            || !self.cfg.sysmon
            || m.id() != 0
            || self.procs() == 1 // nobody to wake
            || self.sysmonwait.load(Relaxed)
        {
            return NEVER;
        }
        arch::now_ns() + PERIOD_NS
    }

    /// Somebody became busy.
    pub(crate) fn wake_sysmon(&self) {
        if !self.cfg.sysmon || self.procs() == 1 {
            return;
        }
        fence(SeqCst); // pairs with the one in `sysmon`
        if self.sysmonwait.load(Relaxed) && self.sysmonwait.swap(false, AcqRel) {
            let m0 = &self.allm[0];
            // SAFETY: set before M0 first ran (`init_m0`), not written since.
            if let Some(cpu) = unsafe { *m0.cpu.get() }
                && m0.p().is_none()
            {
                arch::wake_cpu(cpu)
            }
        }
    }

    /// One look. Does nothing on other Ms than M0.
    pub(crate) fn sysmon(&self, m: &M, now_ns: u64) {
        if !self.cfg.sysmon || m.id() != 0 || self.procs() == 1 {
            return;
        }
        let idle = self.npidle();
        if idle == self.procs() {
            self.sysmonwait.store(true, SeqCst);
            fence(SeqCst); // pairs with `wake_sysmon`: it sees the rest, or this sees its P gone from the idle list
            if self.npidle() != self.procs() {
                self.sysmonwait.store(false, SeqCst)
            }
            return;
        }
        if idle == 0 {
            return;
        }
        let waiting = self.runqsize() != 0 || self.allp.iter().any(|p| !p.runq.is_empty());
        let overdue = self
            .allp
            .iter()
            .any(|p| p.timers.min_when_ns().saturating_add(OVERDUE_NS) < now_ns);
        if waiting || overdue {
            self.wakep()
        }
    }
}
