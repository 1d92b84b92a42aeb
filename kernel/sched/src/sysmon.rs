//! sysmon: looks, while anybody is busy, for what nobody else would notice (Go: proc.go, `sysmon`, `retake`).
//!
//! * Ps whose Gs sit in long blocking calls: they are taken and handed on (`retake.rs`, `handoff.rs`).
//! * A runnable G beside an idle P, or a timer that is overdue: an M is woken. With everything else right there are none;
//!   the wake-up tests run without sysmon, since a safety net hides the holes (Go #60693).
//! * The network, at which nobody has looked for 10 ms although somebody waits for it (Go #51651): `netpoll.rs`.
//! * An M that was told to wake and has not: the interrupt may be lost. It is told again.
//!
//! It is work of CPU 0's timer: of the busy M0 in its safe points, or of the idle M0, which arms its timer for it as long as
//! others are busy. When a look finds all idle it rests (`sysmonwait`) until somebody becomes busy.
//!
//! ```text
//!   every 10 ms ◄──────────────── doubles after 50 looks in vain ───────────── every 20 µs
//!        │                                                                         ▲
//!        └── a call was taken, or one was seen whose P others wait for ────────────┘
//! ```
//!
//! As long as calls are begun now and then the period stays below half a millisecond: it would else grow during one call of
//! some milliseconds, and the next one would be over before the look that takes its P. (Go lets it grow.)

use crate::m::M;
use crate::p::P;
use crate::sched::Sched;
use crate::timers::NEVER;
use base::shim::{AtomicBool, AtomicU64, Ordering::*, fence};
use core::sync::atomic as plain;

/// Shortest time between two looks.
const PERIOD_MIN_NS: u64 = 20_000;
/// Longest.
pub(crate) const PERIOD_MAX_NS: u64 = 10_000_000;
/// Longest while blocking calls are begun.
const PERIOD_CALLS_NS: u64 = 500_000;
/// For so long after one that was begun, others are expected.
const CALLS_EXPECTED_NS: u64 = 2 * PERIOD_MAX_NS;
/// Looks in vain before the period grows.
const PATIENCE: u32 = 50;
/// An M that was told to wake so long ago is told again.
const TELL_AGAIN_NS: u64 = 1_000_000;
/// A timer that is this late is not just about to be run.
const OVERDUE_NS: u64 = 2_000_000;

/// What sysmon remembers from look to look. Only M0 touches it, but for `wait`.
pub(crate) struct Sysmon {
    period_ns: plain::AtomicU64,
    in_vain: plain::AtomicU32,
    /// Until when calls are expected.
    calls_until_ns: plain::AtomicU64,
    /// Ms that had been told to wake and had not, a bit each, and when they are looked at again.
    told: plain::AtomicU64,
    told_next_ns: plain::AtomicU64,
    /// When the next look is due.
    pub next_ns: AtomicU64,
    /// It rests: all was idle at its last look; who becomes busy wakes it.
    pub wait: AtomicBool,
}

impl Sysmon {
    pub fn new() -> Self {
        Self {
            period_ns: plain::AtomicU64::new(PERIOD_MAX_NS),
            in_vain: plain::AtomicU32::new(0),
            calls_until_ns: plain::AtomicU64::new(0),
            told: plain::AtomicU64::new(0),
            told_next_ns: plain::AtomicU64::new(0),
            next_ns: AtomicU64::new(0),
            wait: AtomicBool::new(true),
        }
    }

    /// The next look: soon, if this one was not in vain, and not late if there have been `calls`.
    fn plan(&self, soon: bool, calls: bool, now_ns: u64) {
        let mut period_ns = self.period_ns.load(Relaxed);
        if soon {
            self.in_vain.store(0, Relaxed);
            period_ns = PERIOD_MIN_NS
        } else {
            let n = self.in_vain.load(Relaxed).saturating_add(1);
            self.in_vain.store(n, Relaxed);
            if n > PATIENCE {
                period_ns = (2 * period_ns).min(PERIOD_MAX_NS)
            }
        }
        if calls {
            self.calls_until_ns
                .store(now_ns + CALLS_EXPECTED_NS, Relaxed)
        }
        if now_ns < self.calls_until_ns.load(Relaxed) {
            period_ns = period_ns.min(PERIOD_CALLS_NS)
        }
        self.period_ns.store(period_ns, Relaxed);
        self.next_ns.store(now_ns + period_ns, Relaxed)
    }
}

impl Sched {
    /// Is there anything for sysmon to do on this machine?
    fn has_sysmon(&self) -> bool {
        crate::INTERRUPTS && self.cfg.sysmon && self.mcount() > 1
    }

    /// When M0 has to look, or to print a line: NEVER for the others, and at rest.
    pub(crate) fn sysmon_deadline(&self, m: &M) -> u64 {
        if m.id() != 0 {
            return NEVER;
        }
        self.next_look_ns().min(self.schedtrace.next_ns())
    }

    /// When the next look is due.
    fn next_look_ns(&self) -> u64 {
        if !self.has_sysmon() || self.sysmon.wait.load(Relaxed) {
            return NEVER;
        }
        self.sysmon.next_ns.load(Relaxed)
    }

    /// Somebody became busy.
    pub(crate) fn wake_sysmon(&self) {
        if !self.has_sysmon() {
            return;
        }
        fence(SeqCst); // pairs with the one in `sysmon`
        if self.sysmon.wait.load(Relaxed) && self.sysmon.wait.swap(false, AcqRel) {
            let m0 = &self.allm[0];
            if m0.p().is_none() {
                m0.interrupt()
            }
        }
    }

    /// Look, if it is time. Does nothing on other Ms than M0.
    pub(crate) fn sysmon(&self, m: &M, now_ns: u64) {
        if m.id() != 0 {
            return;
        }
        self.schedtrace_if_due(m, now_ns);
        if self.cfg.sysmon && self.netpoll_is_late(now_ns) {
            match m.p() {
                Some(_) => _ = self.netpoll(m),
                None => self.ask_netpoll(),
            }
        }
        if now_ns < self.next_look_ns() {
            return;
        }
        if self.npidle() == self.procs() {
            self.sysmon.wait.store(true, SeqCst);
            fence(SeqCst); // pairs with `wake_sysmon`: it sees the rest, or this sees its P gone from the idle list
            if self.npidle() == self.procs() {
                return;
            }
            self.sysmon.wait.store(false, SeqCst)
        }
        let (soon, calls) = self.retake(now_ns);
        self.sysmon.plan(soon, calls, now_ns);
        if now_ns >= self.sysmon.told_next_ns.load(Relaxed) {
            let told = self.tell_again(self.sysmon.told.load(Relaxed));
            self.sysmon.told.store(told, Relaxed);
            self.sysmon
                .told_next_ns
                .store(now_ns + TELL_AGAIN_NS, Relaxed)
        }
        if self.npidle() != 0 && (self.work_waits() || self.timer_is_overdue(now_ns)) {
            self.wakep()
        }
    }

    fn work_waits(&self) -> bool {
        self.runqsize() != 0 || self.allp.iter().any(P::has_work)
    }

    fn timer_is_overdue(&self, now_ns: u64) -> bool {
        let now_ns = self.timers_now_ns(now_ns);
        self.allp
            .iter()
            .any(|p| p.timers.min_when_ns().saturating_add(OVERDUE_NS) < now_ns)
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_period_grows_after_looks_in_vain_and_shrinks_at_once() {
        let s = Sysmon::new();
        s.plan(true, false, 0);
        assert_eq!(s.next_ns.load(Relaxed), PERIOD_MIN_NS);
        for _ in 0..PATIENCE {
            s.plan(false, false, 0)
        }
        assert_eq!(s.next_ns.load(Relaxed), PERIOD_MIN_NS);
        for k in 1..20 {
            s.plan(false, false, 0);
            assert_eq!(
                s.next_ns.load(Relaxed),
                (PERIOD_MIN_NS << k).min(PERIOD_MAX_NS)
            );
        }
        s.plan(false, true, 0);
        assert_eq!(s.next_ns.load(Relaxed), PERIOD_CALLS_NS);
        s.plan(false, false, CALLS_EXPECTED_NS - 1);
        assert!(s.next_ns.load(Relaxed) < CALLS_EXPECTED_NS + PERIOD_CALLS_NS);
        s.plan(false, false, CALLS_EXPECTED_NS);
        assert_eq!(
            s.next_ns.load(Relaxed),
            CALLS_EXPECTED_NS + 2 * PERIOD_CALLS_NS
        );
        s.plan(true, true, 5);
        assert_eq!(s.next_ns.load(Relaxed), 5 + PERIOD_MIN_NS);
    }
}
