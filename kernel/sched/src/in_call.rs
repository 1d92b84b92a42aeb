//! A CPU in a blocking call is interrupted as usual: what it serves then, with the P of the call or without one.
//!
//! ```text
//!   interrupt ──► safe point ──► the P of the call can be had ──► its timers, the network ──► given back to the call
//!                                        │ it is gone
//!                                        └──► a flush point; the network if nobody else looks   then, in both cases, sysmon
//! ```
//!
//! It never switches.

use crate::handoff::{NONE, call_by};
use crate::m::M;
use crate::p::P;
use crate::sched::Sched;
use crate::timers::NEVER;
use base::config::Netpoll;
use base::mutant::mutant;
use base::shim::Ordering::*;

/// A CPU that is in a call and has no P passes a flush point so often, as others do at their ticks.
const FLUSH_EVERY_NS: u64 = 10_000_000;

impl Sched {
    /// A safe point inside a call: serve the P's timers if the P can be had for the moment, and then sysmon, which may
    /// take this very P. No switch: a slice that ends here is given up at the end of the call, or a G that makes one call
    /// after the other would keep its P for ever (Go #28701).
    pub(crate) fn safe_point_in_call(&self, m: &M) {
        let Some(p) = m.oldp() else { return };
        let bits = arch::take_pending();
        let mut network = bits & arch::PENDING_DEVICE != 0 || self.netpoll.is_asked();
        if bits & (arch::PENDING_TIMER | arch::PENDING_DEVICE) == 0 && !network {
            return self.arm_in_call(m, p, arch::now_ns()); // timers may have come, or sysmon was woken
        }
        let now_ns = arch::now_ns();
        self.served(m, now_ns);
        network |= self.protocols_are_due(now_ns);
        if self.reenter(m, p) {
            if self.serve_clock(m, p, now_ns) {
                m.over_in_call.store(true, Relaxed)
            }
            if network {
                self.netpoll(m);
            }
            m.set_p(None);
            if !mutant("call_keeps_p") {
                p.call.store(call_by(m), Release)
            }
        } else {
            self.serve_without_p(m, network)
        }
        self.sysmon(m, now_ns);
        self.arm_in_call(m, p, now_ns)
    }

    /// The CPU's timer for the rest of the call, or until it is looked at again. One that has lost its P goes on passing flush points
    /// (`mem::flush`), or no memory would come back before the call ends; if it halts in the call, that says so itself.
    fn arm_in_call(&self, m: &M, p: &'static P, now_ns: u64) {
        let keeps_p = p.call.load(Relaxed) == call_by(m);
        if keeps_p && crate::INTERRUPTS {
            p.wakeup.put_off(now_ns);
            self.arm(m, p)
        } else if self.cfg.netpoll == Netpoll::Block {
            let own_ns = if keeps_p {
                self.timer_deadline_ns(p)
            } else {
                NEVER
            };
            self.arm_idle(m, own_ns.min(self.earliest_timer())) // it may be about to halt
        } else if crate::INTERRUPTS {
            self.arm_idle(m, now_ns + FLUSH_EVERY_NS)
        } else {
            self.arm_idle(m, NEVER)
        }
    }

    /// The P of the call is gone. An M that runs Gs looks at the network, or this one if there is none; where waits for the
    /// network hold their Ms there may be none for timers either (`netpoll=block`).
    #[cold]
    fn serve_without_p(&self, m: &M, network: bool) {
        if network
            && self
                .running_p()
                .is_some_and(|p| p.call.load(Relaxed) == NONE)
        {
            self.ask_netpoll()
        } else if network {
            self.netpoll(m);
        }
        mem::flush::flush_point();
        if self.cfg.netpoll == Netpoll::Block {
            self.serve_timers_of_idle(m)
        }
    }

    /// Those of Ps that nobody holds that are due, with one of them for the time: what a timer runs may start Gs.
    fn serve_timers_of_idle(&self, m: &M) {
        if self.earliest_timer() > self.timers_now_ns(arch::now_ns()) {
            return;
        }
        // Stranded ones too: where all Ms wait so, there is no other.
        let Some(own) = self.take_free_p(&mut self.lock.lock(), m) else {
            return; // those that run Gs look after all of them
        };
        self.acquirep(m, own);
        let ps = self.allp.iter().take(self.procs() as usize);
        for p in ps.filter(|p| core::ptr::eq(*p, own) || !p.is_running()) {
            self.run_timers(m, p, self.timers_now_ns(arch::now_ns()));
        }
        self.releasep(m, own);
        self.handoffp(own)
    }
}
