//! The loop of an M: find a runnable G, run it (Go: proc.go, `schedule`, `findRunnable`, `execute`).
//!
//! All of this runs on g0 with preemption off. Nothing here switches: functions return decisions, and `mcall`'s epilogue
//! carries the last one out.

use crate::g::{GRef, GStatus};
use crate::m::{M, count};
use crate::p::P;
use crate::policy::{self, Event, Place};
use crate::sched::Sched;
use crate::steal::Stolen;
use crate::wakeup::Verdict;
use base::config::Preempt;
use base::mutant::mutant;
use base::shim::Ordering::*;

/// Every so many slices the global queue is looked at first, or two Gs that keep each other on the local queue would
/// starve it. (In models that would be a long time.)
pub(crate) const GLOBAL_EVERY: u32 = if cfg!(ringo_shuttle) { 7 } else { 61 };

/// Runs from `runnext` in a row where no clock ends the chain's slice (host machine, `preempt=off`). Elsewhere the slice
/// bounds them (Go turns `runnext` off on such machines; a bound keeps its use).
const CHAIN_MAX: u32 = 64;

/// The chain has had its slice, by the clock.
const CHAIN_OVER: u32 = u32::MAX;

/// A G to run, and whether it inherits the slice.
pub(crate) struct Found {
    pub g: GRef,
    pub inherit: bool,
}

impl Sched {
    /// Find a G and make it the running one; what `mcall` resumes.
    pub(crate) fn schedule(&self, m: &M) -> *const arch::Context {
        match self.pick(m) {
            Some(found) => self.execute(m, found.g, found.inherit),
            // SAFETY: this is g0 of a host thread; the run is over.
            None => unsafe { arch::leave_g0() },
        }
    }

    /// The next G; who looked for it as a spinning M hands that duty on.
    pub(crate) fn pick(&self, m: &M) -> Option<Found> {
        loop {
            let found = self.findrunnable(m)?;
            if m.spinning.load(Relaxed) {
                self.resetspinning(m)
            }
            match found.g.locked_to() {
                Some(to) if !core::ptr::eq(to, m) => self.deliver(m, to, found.g),
                _ => return Some(found),
            }
        }
    }

    /// The next G. Waits for one as long as it takes; None only when the run is over (host machine).
    ///
    /// Go's order: timers, now and then the global queue, the local queue, the global queue, the poller, others' queues.
    pub(crate) fn findrunnable(&self, m: &M) -> Option<Found> {
        loop {
            if cfg!(not(ringo_kernel)) && self.stopping.load(Acquire) {
                if m.spinning.swap(false, Relaxed) {
                    self.nmspinning.fetch_sub(1, SeqCst);
                }
                return None;
            }
            let Some(p) = m.p() else {
                self.stopm(m, crate::timers::NEVER);
                continue;
            };
            if self.gcwaiting.load(Relaxed) {
                self.gcstopm(m, p);
                continue;
            }
            self.look_at_timers(m, p);
            // Not before the others where a slice has just ended: it may be the one that has had it, fetched by another M and
            // laid here at once, each time.
            let others_first = m.fresh_slice.load(Relaxed) && p.has_work();
            if !others_first && let Some(g) = self.take_tray(m) {
                return Some(Found { g, inherit: false });
            }
            if p.wakeup.any()
                && let Some(found) = self.find_woken(m, p, false)
            {
                return Some(found);
            }
            if self.others_first(m, p)
                && let Stolen::G(g) = self.steal_work(m, p)
            {
                return Some(Found { g, inherit: false });
            }
            if let Some(found) = self.find_local(m, p).or_else(|| self.find_global(p)) {
                return Some(found);
            }
            if p.wakeup.any()
                && let Some(found) = self.find_woken(m, p, true)
            {
                return Some(found);
            }
            if self.netpoll_may_bring() && self.netpoll(m) != 0 {
                continue;
            }
            if self.procs() > 1 && (m.spinning.load(Relaxed) || self.may_spin()) {
                if !m.spinning.load(Relaxed) {
                    self.become_spinning(m)
                }
                trace::point!("idle.spin");
                match self.steal_work(m, p) {
                    Stolen::G(g) => return Some(Found { g, inherit: false }),
                    Stolen::RanTimers => continue,
                    Stolen::Nothing => {}
                }
            }
            self.go_idle(m, p)
        }
    }

    /// Own timers first. A busy CPU is told by its timer interrupt; the host machine has to look at the clock.
    #[inline]
    fn look_at_timers(&self, m: &M, p: &P) {
        if crate::INTERRUPTS {
            if arch::pending() != 0 && self.serve_pending(m, p) == Verdict::SliceOver {
                // The slice ended between two Gs: who comes from `runnext` now does not inherit it.
                m.fresh_slice.store(true, Relaxed);
                m.chain.store(CHAIN_OVER, Relaxed)
            }
        } else if !p.timers.is_empty() {
            self.run_timers(m, p, self.timers_now_ns(arch::now_ns()));
        }
        // Without interrupts nobody else tells of the protocols' timers.
        let due =
            !crate::INTERRUPTS && self.netpoll.is_set() && self.protocols_are_due(arch::now_ns());
        if due || self.netpoll.is_asked() {
            self.netpoll(m);
        }
        if cfg!(not(ringo_kernel)) && self.cfg.schedtrace != 0 {
            self.sysmon(m, arch::now_ns())
        }
    }

    #[inline]
    fn find_local(&self, m: &M, p: &P) -> Option<Found> {
        let global_first =
            p.schedtick().is_multiple_of(GLOBAL_EVERY) && !self.global_has_the_last(m);
        let over = self.chain_is_over(m);
        // Where chains end by their length alone, those in the ring come before the global queue, which has its turn every so
        // many slices: or a G that yields would have the turn of the ring each time.
        let ring_first = over && !global_first && self.has_no_clock();
        if ring_first && let Some(found) = self.pass_runnext(m, p) {
            return Some(found);
        }
        if self.runqsize() != 0 && (global_first || over) {
            m.chain.store(0, Relaxed);
            if let Some(g) = self.globrunqget() {
                return Some(Found { g, inherit: false });
            }
        }
        if over && let Some(found) = self.pass_runnext(m, p) {
            return Some(found);
        }
        p.runq.get().map(|(g, inherit)| Found { g, inherit })
    }

    /// Has a G just lost its slice and gone to the global queue? It would come straight back from there, and whoever was to
    /// run now would wait for a third slice. Where the policy keeps such Gs on their P this says nothing about the global queue:
    /// one that is alone on its P is never without having just lost its slice.
    fn global_has_the_last(&self, m: &M) -> bool {
        m.fresh_slice.load(Relaxed)
            && (policy::place(&self.cfg, Event::Preempted) == Place::GlobalTail
                || mutant("fresh_slice_starves"))
    }

    /// The chain is over: what comes behind `runnext`.
    fn pass_runnext(&self, m: &M, p: &P) -> Option<Found> {
        let g = p.runq.get_ring()?;
        m.chain.store(0, Relaxed);
        Some(Found { g, inherit: false })
    }

    /// Has a chain of `runnext` runs gone on for too long, on a machine where no clock ends it?
    #[inline]
    fn chain_is_over(&self, m: &M) -> bool {
        m.chain.load(Relaxed)
            >= if self.has_no_clock() {
                CHAIN_MAX
            } else {
                CHAIN_OVER
            }
    }

    /// Does no clock end the slices of Gs that do not give way by themselves?
    #[inline]
    fn has_no_clock(&self) -> bool {
        !crate::INTERRUPTS || self.cfg.preempt == Preempt::Off
    }

    /// Is it time to look at the other Ps although there is work here? Gs that yield to each other keep a queue filled for
    /// ever, and what waits behind a G that keeps its P is found by stealing only, where no clock ends that G's slice (Go
    /// #13546). What is stolen goes into the ring, so that has to be empty.
    #[inline]
    fn others_first(&self, m: &M, p: &P) -> bool {
        if cfg!(ringo_loom) || !self.has_no_clock() || self.procs() == 1 {
            return false;
        }
        let switches = m.stats.switches.load(Relaxed);
        let due = switches - m.looked_at_others.load(Relaxed) >= GLOBAL_EVERY.into()
            && p.runq.ring_is_empty();
        if due {
            m.looked_at_others.store(switches, Relaxed)
        }
        due
    }

    #[inline]
    fn find_global(&self, p: &P) -> Option<Found> {
        if self.runqsize() == 0 {
            return None;
        }
        let mut gl = self.lock.lock();
        self.globrunqget_batch(&mut gl, p)
            .map(|g| Found { g, inherit: false })
    }

    /// Make `g` the running G of this CPU. A slice of its own begins unless it inherits the one before.
    pub(crate) fn execute(&self, m: &M, g: GRef, inherit: bool) -> *const arch::Context {
        let inherit = inherit && !m.fresh_slice.load(Relaxed);
        if let Some(p) = m.p() {
            if inherit {
                m.chain
                    .store(m.chain.load(Relaxed).saturating_add(1), Relaxed)
            } else {
                m.chain.store(0, Relaxed);
                m.fresh_slice.store(false, Relaxed);
                p.schedtick
                    .store(p.schedtick.load(Relaxed).wrapping_add(1), Relaxed)
            }
        }
        g.set_status(GStatus::Runnable, GStatus::Running);
        g.m.store(m as *const M as *mut M, Relaxed);
        m.curg.store(g.as_ptr(), Relaxed);
        count(&m.stats.switches);
        g.traced(trace::Kind::GoStart, m.p().map_or(0, |p| p.id() as u32));
        mem::gstack::before_execute(g.trimmed.load(Relaxed));
        // SAFETY: on g0 with preemption off; the window is the G's stack, and nobody else runs on it (I-G0).
        unsafe {
            arch::set_curg(g.as_ptr() as *mut ());
            if self.cfg.preempt == Preempt::Async {
                arch::set_window(g.window.0.load(Relaxed), g.window.1.load(Relaxed))
            }
        }
        if g.runnable_since_ns.load(Relaxed) != 0 {
            return self.note_latency(m, g); // last, so that the way past it saves nothing for it
        }
        &g.ctx
    }

    /// The G no longer runs: it belongs to whoever finds it next (Go: `dropg`).
    pub(crate) fn dropg(&self, m: &M, g: GRef) {
        g.m.store(core::ptr::null_mut(), Relaxed);
        m.curg.store(core::ptr::null_mut(), Relaxed);
        // SAFETY: on g0 with preemption off.
        unsafe { arch::set_curg(core::ptr::null_mut()) }
    }
}

/// This CPU's M, on g0: the CPU cannot change, so the reference is good for as long as the function runs.
pub(crate) fn m_on_g0() -> &'static M {
    debug_assert!(arch::preempt_count() > 0);
    // SAFETY: set by `mstart`; Ms live for ever.
    unsafe { &*(arch::m_ptr() as *const M) }
}

// ---- M's start ----

impl Sched {
    /// Make the calling CPU M number `id` and run Gs on it. The first M gets P0. Returns on the host machine only, when
    /// the run is over (Go: `mstart`).
    ///
    /// # Safety
    /// Called once for each `id`, on the CPU's boot stack, with preemption off, by a CPU that can take interrupts; `id` < the CPUs given to [`Sched::new`].
    pub unsafe fn mstart(&'static self, id: usize) {
        let m = &self.allm[id];
        if id != 0 {
            // SAFETY: nobody knows this M yet: it is on no list. (`init_m0` did it for M0.)
            unsafe { *m.cpu.get() = Some(arch::cpu_ref()) };
        }
        // SAFETY: the CPU has none yet, or this one, and the M lives for ever.
        unsafe { arch::set_m_ptr(m as *const M as *mut ()) };
        arch::irq_enable(); // CPUs start with them off, and an M that finds work at once halts late or never
        // SAFETY: on the boot stack of this CPU, no G runs.
        unsafe { arch::start_g0(mstart_g0, 0) }
    }

    /// M0 takes P0, before any other M runs. Its main G can be made then.
    ///
    /// # Safety
    /// Called once, on CPU 0, with preemption off, before any `mstart`.
    pub unsafe fn init_m0(&'static self) {
        let m = &self.allm[0];
        // SAFETY: as in `mstart`.
        unsafe {
            *m.cpu.get() = Some(arch::cpu_ref());
            arch::set_m_ptr(m as *const M as *mut ());
        }
        self.pidle.store(self.pidle.load(Relaxed) & !1, Relaxed);
        for p in 1..self.procs() {
            trace::emit(trace::Kind::ProcIdle, 0, p) // as they were made
        }
        self.acquirep(m, self.p_static(0));
    }

    /// How many CPUs came; CPU 0 is one of them. Called before it runs Gs.
    pub fn set_mcount(&self, n: usize) {
        self.mcount.store(n as u32, Release)
    }
}

unsafe extern "C" fn mstart_g0(_: usize) -> *const arch::Context {
    let m = m_on_g0();
    mem::flush::cpu_online();
    m.sched().schedule(m)
}
