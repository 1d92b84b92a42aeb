//! What time it is for the program: the machine's time, or with `clock=virtual` one that stands still while anything can
//! run, and jumps to the next timer when nothing can (Go: proc.go, `checkdead` with `faketime`).
//!
//! So sleeps take no time, a program's output depends on no speed, and an hour's timeout is tested in a millisecond.
//! Slices, sysmon and everything else that is about CPUs goes by the machine's time all the same. While a G waits for the network, and
//! something may still come from there, the clock does not jump: if nothing else can run, it gets to the next timer at the
//! machine's pace.
//!
//! **I-PACE** Such a clock changes under the scheduler's lock, and only while all Ms are on the idle list, or as the first of them
//! leaves it: if a G waits for the network, the span for which they all were on it (`Global::pace_since_ns`) is added then.

use crate::m::M;
use crate::p::P;
use crate::sched::{Global, Sched};
use crate::timers::NEVER;
use base::PreemptGuard;
use base::config::{Clock, Config};
use base::shim::Ordering::*;
use core::sync::atomic::AtomicBool;

/// Is there any scheduler with such a clock, or was there a bubble? Where there is none, reading the clock is one load more than the machine's.
static ANY: AtomicBool = AtomicBool::new(false);

/// A bubble is made.
pub(crate) fn note_bubble() {
    ANY.store(true, Relaxed)
}

/// A scheduler is made.
pub(crate) fn note(cfg: &Config) {
    if cfg.clock == Clock::Virtual {
        ANY.store(true, Relaxed)
    }
}

/// Nanoseconds since the machine started, by the program's clock; never goes back.
#[inline]
pub fn now_ns() -> u64 {
    #[cfg(ringo_loom)]
    return crate::models::read_clock();
    #[cfg(not(ringo_loom))]
    if ANY.load(Relaxed) {
        virtual_now_ns()
    } else {
        arch::now_ns()
    }
}

/// The same by the machine's clock, whatever the program's is.
#[inline]
pub fn machine_now_ns() -> u64 {
    #[cfg(ringo_loom)]
    return crate::models::read_clock();
    #[cfg(not(ringo_loom))]
    arch::now_ns()
}

#[cold]
fn virtual_now_ns() -> u64 {
    if arch::m_ptr().is_null() {
        return arch::now_ns(); // before the scheduler runs
    }
    if let Some(ns) = crate::bubble::now_ns() {
        return ns;
    }
    program_now_ns()
}

/// The same outside of all bubbles, wherever the caller is.
pub fn program_now_ns() -> u64 {
    #[cfg(ringo_loom)]
    return crate::models::read_clock();
    #[cfg(not(ringo_loom))]
    program_now_here()
}

#[cfg(not(ringo_loom))]
fn program_now_here() -> u64 {
    let guard = PreemptGuard::new();
    M::current(&guard).sched().timers_now_ns(arch::now_ns())
}

impl Sched {
    #[inline]
    pub(crate) fn clock_is_virtual(&self) -> bool {
        self.cfg.clock == Clock::Virtual
    }

    /// What timers go by, when it is `machine_ns` for the machine.
    #[inline]
    pub(crate) fn timers_now_ns(&self, machine_ns: u64) -> u64 {
        if self.clock_is_virtual() {
            self.virtual_ns.load(Acquire)
        } else {
            machine_ns
        }
    }

    /// When, by the machine's clock, `p`'s earliest timer is due. A virtual clock does not get there by waiting.
    #[inline]
    pub(crate) fn timer_deadline_ns(&self, p: &P) -> u64 {
        let when_ns = p.timers.min_when_ns();
        if !self.clock_is_virtual() {
            when_ns
        } else if when_ns <= self.virtual_ns.load(Acquire) {
            0
        } else {
            NEVER
        }
    }

    /// Every M was idle when the idle list had been left `mleaves` times, and the caller's M the last that went: the clock goes to
    /// the next timer, unless a device has woken somebody since, who may run, and set and stop timers.
    pub(crate) fn jump_clock(&self, mleaves: u64) {
        let ns = self.first_timer_ns();
        let gl = self.lock.lock();
        if ns != NEVER && gl.mleaves == mleaves {
            // Release: pairs with the loads above.
            self.virtual_ns.fetch_max(ns, AcqRel);
        }
    }

    fn first_timer_ns(&self) -> u64 {
        let first = self.allp.iter().map(|p| p.timers.first_live_ns()).min();
        first.unwrap_or(NEVER)
    }

    /// The same while a G waits for what a device may bring: the next timer comes when the machine's clock has gone on by as
    /// much, or a read would have timed out before anything could be there to read. What `park` returns.
    pub(crate) fn park_until_next_timer(&self, m: &M, deadline_ns: u64) -> bool {
        // If another M is awake by now this one may halt for too short a time, which does no harm.
        let ahead_ns = self
            .first_timer_ns()
            .saturating_sub(self.virtual_ns.load(Acquire));
        let due_ns = arch::now_ns().saturating_add(ahead_ns);
        self.park(m, deadline_ns.min(due_ns))
    }

    /// All Ms are idle, and the clock goes at the machine's pace (I-PACE).
    pub(crate) fn pace_begins(&self, gl: &mut Global) {
        gl.pace_since_ns = arch::now_ns()
    }

    /// An M leaves the idle list: the clock stands from here on (I-PACE).
    pub(crate) fn pace_ends(&self, gl: &mut Global) {
        gl.mleaves += 1;
        let since_ns = core::mem::replace(&mut gl.pace_since_ns, NEVER);
        if since_ns != NEVER {
            let span_ns = arch::now_ns().saturating_sub(since_ns);
            let now_ns = self.virtual_ns.load(Acquire).saturating_add(span_ns);
            // Release: pairs with the loads above. All who write it hold the lock.
            self.virtual_ns.fetch_max(now_ns.min(NEVER - 1), AcqRel);
        }
    }
}
