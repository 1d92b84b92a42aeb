//! The CPU's timer: armed for the next slice check and the P's earliest timer while an M is busy, for the timekeeper's
//! deadline while it is idle, not at all otherwise. A switch arms nothing.

use crate::m::M;
use crate::p::P;
use crate::policy::{self, Running};
use crate::sched::Sched;
use crate::timers::NEVER;
use crate::wakeup::Verdict;
use base::mutant::planted;
use base::shim::Ordering::*;

impl Sched {
    /// `m` just got `p`: its CPU ticks from now on.
    pub(crate) fn start_ticking(&self, m: &M, p: &P) {
        if !crate::INTERRUPTS {
            return; // nothing interrupts the host machine: timers are looked at between Gs
        }
        let now_ns = arch::now_ns();
        m.next_tick_ns.store(now_ns + self.slice_ns(), Relaxed);
        m.tick_saw.store(p.schedtick(), Relaxed);
        if p.timers.min_when_ns() <= self.timers_now_ns(now_ns) {
            arch::raise_pending(arch::PENDING_TIMER); // the next look for work runs them; an interrupt would come late
        } else {
            self.arm(m, p)
        }
        self.wake_sysmon();
    }

    /// Arm the CPU's timer for what comes first, unless it is.
    pub(crate) fn arm(&self, m: &M, p: &P) {
        if !crate::INTERRUPTS {
            return;
        }
        let next_tick_ns = m.next_tick_ns.load(Relaxed);
        let deadline_ns = next_tick_ns
            .min(self.timer_deadline_ns(p))
            .min(p.wakeup.check_ns())
            .min(self.sysmon_deadline(m));
        if deadline_ns != m.armed_ns.load(Relaxed) {
            m.armed_ns.store(deadline_ns, Relaxed);
            arch::arm_timer(deadline_ns);
        }
    }

    /// Arm it for an idle M.
    pub(crate) fn arm_idle(&self, m: &M, deadline_ns: u64) {
        let deadline_ns = deadline_ns.min(self.sysmon_deadline(m));
        if deadline_ns == m.armed_ns.load(Relaxed) {
            return;
        }
        m.armed_ns.store(deadline_ns, Relaxed);
        match deadline_ns {
            NEVER => arch::disarm_timer(),
            t => arch::arm_timer(t),
        }
    }

    /// An idle M was woken by a note: whatever else is pending is looked at by `findrunnable`, except that the timer, if it
    /// fired, is no longer armed.
    pub(crate) fn forget_fired_timer(&self, m: &M) {
        if arch::pending() & arch::PENDING_TIMER != 0 {
            m.armed_ns.store(NEVER, Relaxed)
        }
    }

    /// An idle M's halt ended without a note. True: its deadline passed, or something else gives it reason to look.
    pub(crate) fn look_after_halt(&self, m: &M, deadline_ns: u64) -> bool {
        if planted(12) {
            arch::take_pending();
            return false;
        }
        let bits = arch::take_pending();
        let now_ns = arch::now_ns();
        if bits & arch::PENDING_TIMER != 0 {
            self.served(m, now_ns);
            self.sysmon(m, now_ns);
        }
        let device = bits & arch::PENDING_DEVICE != 0;
        if device {
            self.netpoll.ask()
        }
        if device || self.netpoll.is_asked() || now_ns >= deadline_ns {
            return true;
        }
        self.arm_idle(m, deadline_ns);
        false
    }

    /// Serve the pending bits of a busy CPU: due timers, the slice check, sysmon, those that were woken. What is to become
    /// of the running G, if there is one.
    ///
    /// The slice is known by `schedtick`: if it is what the last check saw, the G (or the chain of Gs that inherited from
    /// each other) has had between one and two slices (Go: `retake`).
    pub(crate) fn serve_pending(&self, m: &M, p: &P) -> Verdict {
        let bits = arch::take_pending();
        // A fault point asks for what the end of a slice does.
        let mut over = bits & arch::PENDING_PREEMPT != 0;
        let mut network = bits & arch::PENDING_DEVICE != 0 || self.netpoll.is_asked();
        if bits & (arch::PENDING_TIMER | arch::PENDING_DEVICE) != 0 {
            let now_ns = arch::now_ns();
            self.served(m, now_ns);
            over |= self.serve_clock(m, p, now_ns);
            self.sysmon(m, now_ns);
            network |= self.protocols_are_due(now_ns)
        }
        if network {
            self.netpoll(m);
        }
        let verdict = match self.look_at_woken(m, p) {
            _ if over => Verdict::SliceOver,
            verdict => verdict,
        };
        if self.netpoll.is_asked() {
            self.netpoll_again(m, arch::now_ns())
        }
        self.arm(m, p); // also after a reschedule interrupt: timers may have been moved here
        verdict
    }

    /// Due timers and the slice check. True: the slice is over.
    pub(crate) fn serve_clock(&self, m: &M, p: &P, now_ns: u64) -> bool {
        self.run_timers(m, p, self.timers_now_ns(now_ns));
        if now_ns < m.next_tick_ns.load(Relaxed) {
            return false;
        }
        let tick = p.schedtick();
        let running = Running {
            had_slice: tick == m.tick_saw.load(Relaxed),
            others_wait: p.has_work() || self.runqsize() != 0,
        };
        let over = policy::preempt(self.cfg.policy, running);
        trace::emit(trace::Kind::Tick, 0, 0);
        m.tick_saw.store(tick, Relaxed);
        m.next_tick_ns.store(now_ns + self.slice_ns(), Relaxed);
        p.wakeup.saw_running(m, now_ns);
        mem::flush::flush_point();
        over
    }

    /// Run what is due on `p`, on behalf of `m`. True if anything ran.
    pub(crate) fn run_timers(&self, m: &M, p: &P, now_ns: u64) -> bool {
        m.serving.store(true, Relaxed);
        let ran = p.timers.run_due(now_ns);
        m.serving.store(false, Relaxed);
        if m.p().is_some() {
            self.drop_left()
        }
        if ran != 0 {
            trace::emit(trace::Kind::TimerFire, 0, ran);
            m.stats
                .timers
                .store(m.stats.timers.load(Relaxed) + ran as u64, Relaxed);
        }
        ran != 0
    }
}
