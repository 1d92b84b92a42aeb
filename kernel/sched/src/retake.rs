//! Which blocking calls last too long: sysmon takes their Ps and hands them on (Go: proc.go, `retake`). How: `handoff.rs`.

use crate::handoff::NONE;
use crate::p::P;
use crate::sched::Sched;
use base::shim::Ordering::*;

/// A blocking call lasts at least so long before its P is retaken where nobody waits for it (Go: `retake`).
const NOBODY_WAITS_NS: u64 = 10_000_000;

impl Sched {
    /// Take the Ps of long calls (Go: `retake`). First: look again soon, since some were taken, or others wait for
    /// one that was seen for the first time. Second: calls were begun since the last look.
    pub(crate) fn retake(&self, now_ns: u64) -> (bool, bool) {
        let (mut soon, mut calls) = (false, false);
        if !self.cfg.handoff {
            return (soon, calls);
        }
        for i in 0..self.procs() as usize {
            let p = self.p_static(i);
            let tick = p.syscalltick.load(Relaxed);
            calls |= p.sysmon_saw_tick.swap(tick, Relaxed) != tick;
            if p.call.load(Relaxed) == NONE {
                continue;
            }
            let waits = self.somebody_waits(p);
            if self.call_is_long(p, waits, now_ns) && self.retake_and_hand_on(p) {
                soon = true
            }
            soon |= waits
        }
        (soon, calls)
    }

    /// Is there a use for the P of a call?
    fn somebody_waits(&self, p: &P) -> bool {
        p.has_work() || self.runqsize() != 0 || self.nmspinning() + self.npidle() == 0
    }

    /// Has the same call been seen before? Touched by sysmon alone.
    fn call_is_long(&self, p: &P, somebody_waits: bool, now_ns: u64) -> bool {
        let tick = p.syscalltick.load(Relaxed);
        if p.sysmon_saw_call.swap(tick, Relaxed) != tick {
            p.sysmon_call_when_ns.store(now_ns, Relaxed);
            return false;
        }
        somebody_waits || now_ns >= p.sysmon_call_when_ns.load(Relaxed) + NOBODY_WAITS_NS
    }
}
