//! Sections with interrupts or preemption off that last too long. While they last nobody on this CPU can see it; the runner's
//! watchdog does, from outside, by real time. Under virtual time (`--seed`), where the host takes no time away, the kernel
//! sees it right afterwards and to the nanosecond: its timer was armed for one moment and is served at another.

use crate::m::M;
use crate::sched::Sched;
use crate::timers::NEVER;
use base::shim::Ordering::*;

/// Longest such section, on a machine of one CPU. Several CPUs take turns under virtual time, each until the next timer of any
/// of them is due, some milliseconds: how late they are says nothing about them.
const LATE_NS: u64 = 1_000_000;

impl Sched {
    /// This CPU's timer has fired, or something else gave it reason to look at the clock.
    #[inline]
    pub(crate) fn served(&self, m: &M, now_ns: u64) {
        let due_ns = m.armed_ns.load(Relaxed);
        m.served_ns.store(now_ns, Relaxed);
        m.armed_ns.store(NEVER, Relaxed); // if it has not fired yet, it has to be armed anew all the same
        if self.cfg.icount && self.cpus_tick() && self.mcount() == 1 {
            let late_ns = now_ns.saturating_sub(due_ns);
            if late_ns > LATE_NS {
                self.say_late(m, late_ns)
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn say_late(&self, m: &M, late_ns: u64) {
        let g = m.curg();
        let us = (late_ns / 1000).min(u64::from(u32::MAX)) as u32;
        trace::emit(trace::Kind::Late, g.map_or(0, |g| g.id()), us);
        (self.hooks.late)(m.id(), g, late_ns)
    }
}
