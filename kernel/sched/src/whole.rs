//! What shuttle's models add (`--cfg ringo_shuttle`): the whole scheduler, driven with Gs as plain data. Each function is what the
//! kernel does on g0, without the switch at its end; machine and clock are `arch/src/host/model.rs`.

use crate::g::{GRef, GStatus, WaitReason};
use crate::m::M;
use crate::p::P;
use crate::park::Commit;
use crate::policy::Event;
use crate::sched::{Hooks, Sched};
use crate::stw::StopReason;
use base::config::Config;
use base::shim::Ordering::*;

/// A scheduler of `ms` Ms, all of which came.
pub fn sched(cfg: Config, ms: usize) -> &'static Sched {
    fn fatal(_: &'static Sched, _: &'static str, text: core::fmt::Arguments) -> ! {
        panic!("{text}")
    }
    let late = |_, _, _| ();
    let s = Sched::new(cfg, ms, Hooks { fatal, late });
    s.set_mcount(ms);
    s
}

/// Give back what [`sched`] made.
///
/// # Safety
/// Nobody uses it any more, nor its Ms and Ps.
pub unsafe fn free(s: &'static Sched) {
    // SAFETY: `Sched::new` leaked a box; the caller's promise.
    drop(unsafe { Box::from_raw(s as *const Sched as *mut Sched) })
}

/// What a G does next.
pub enum Next {
    /// The G goes on.
    GoesOn,
    /// It is somebody else's by now.
    Gone,
}

impl Sched {
    /// The calling task is M `id` from here on: what `mstart` does before it looks for work. The first one takes P0.
    pub fn whole_mstart(&'static self, id: usize) -> &'static M {
        arch::hosted::start_cpu(id, self.mcount() as usize);
        let m = &self.allm[id];
        if id == 0 {
            // SAFETY: the first of all, as `init_m0` wants it.
            unsafe { self.init_m0() }
        } else {
            // SAFETY: nobody knows this M yet; Ms live as long as the model.
            unsafe {
                *m.cpu.get() = Some(arch::cpu_ref());
                arch::set_m_ptr(m as *const M as *mut ())
            }
        }
        m
    }

    /// G `g` is the main G.
    pub fn whole_main(&self, m: &M, g: GRef) {
        g.set_status(GStatus::Dead, GStatus::Runnable);
        self.runqput(m, g, Event::New);
        self.main_started.store(true, Release)
    }

    /// `schedule`: the next G runs. `None`: the run is over.
    pub fn whole_schedule(&self, m: &M) -> Option<GRef> {
        let found = self.pick(m)?;
        let p = m.p().expect("who found a G holds a P");
        assert!(
            core::ptr::eq(p.m.load(Relaxed), m),
            "P {} has two owners",
            p.id()
        );
        self.execute(m, found.g, found.inherit);
        Some(found.g)
    }

    /// `newproc` with a G that is made.
    pub fn whole_new(&self, m: &M, g: GRef) {
        g.set_status(GStatus::Dead, GStatus::Runnable);
        self.runqput(m, g, Event::New);
        self.wakep()
    }

    /// `goready`.
    pub fn whole_ready(&self, m: &M, g: GRef) {
        self.ready(m, g)
    }

    /// Yield, to all or to this P's Gs.
    pub fn whole_yield(&self, m: &M, g: GRef, locally: bool) {
        let event = if locally {
            Event::YieldedLocally
        } else {
            Event::Yielded
        };
        self.requeue(m, g, event)
    }

    /// A safe point, if something is pending: as an injected call, or the drop of the last guard.
    pub fn whole_safe_point(&self, m: &M, g: GRef) -> Next {
        if arch::pending() == 0 {
            return Next::GoesOn;
        }
        match self.at_safe_point(m, g) {
            Some(event) => {
                self.requeue(m, g, event);
                Next::Gone
            }
            None => Next::GoesOn,
        }
    }

    /// `gopark`. False: the G goes on at once.
    ///
    /// # Safety
    /// As `gopark`.
    pub unsafe fn whole_park(&self, m: &M, g: GRef, commit: Commit) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.park_running(m, g, WaitReason::ChanReceive, commit) }
    }

    /// `sleep`.
    pub fn whole_sleep(&self, m: &M, g: GRef, ns: u64) {
        let commit = Commit {
            f: crate::sleep::arm_sleep,
            arg: (self.timers_now_ns(arch::now_ns()) + ns) as usize,
        };
        // SAFETY: the timer readies the G once.
        unsafe { self.park_running(m, g, WaitReason::Sleep, commit) };
    }

    /// `entersyscall`; with `block` `entersyscallblock`.
    pub fn whole_enter_call(&self, m: &M, g: GRef, block: bool) {
        self.enter_call(m, g);
        if block && self.cfg.handoff {
            let p = m.oldp().expect("a P");
            if self.retake_p(p) {
                self.handoffp(p)
            }
        }
    }

    /// `exitsyscall`.
    pub fn whole_exit_call(&self, m: &M, g: GRef) -> Next {
        if self.exit_call(m, g) {
            return Next::GoesOn;
        }
        self.dropg(m, g);
        self.wait_for_p(g);
        Next::Gone
    }

    /// What `with_world_stopped` does on g0: `f` is called when the world stands; with `procs` their number changes then.
    /// With `limit_ns` it gives up then.
    pub fn whole_stop(
        &'static self,
        m: &M,
        limit_ns: Option<u64>,
        procs: Option<usize>,
        f: impl FnOnce(),
    ) {
        let limit_ns = limit_ns.unwrap_or(crate::timers::NEVER);
        if !self.stop_the_world(m, StopReason::Look, limit_ns) {
            return;
        }
        for p in self.allp.iter().take(self.procs() as usize) {
            let stands = p.m.load(Relaxed).is_null() && self.pidle.load(Relaxed) & 1 << p.id() == 0;
            let mine = m.p().is_some_and(|own| own.id() == p.id());
            assert!(mine || stands, "I-STW: P {} while the world stands", p.id());
        }
        f();
        if let Some(n) = procs.filter(|&n| n != self.procs() as usize) {
            self.procresize(m, n)
        }
        self.start_the_world(m)
    }

    /// `goexit0`.
    pub fn whole_exit(&self, m: &M, g: GRef) {
        self.dropg(m, g);
        g.stops();
        g.clear_lock();
        g.set_status(GStatus::Running, GStatus::Dead)
    }

    /// What holds at any moment, under the lock.
    pub fn whole_check(&self) {
        let gl = self.lock.lock();
        let idle = self.pidle.load(Relaxed);
        for p in self.allp.iter().filter(|p| idle & 1 << p.id() != 0) {
            assert!(!p.is_running(), "P {} is idle and running", p.id());
            assert!(!p.has_work(), "I-IDLE-EMPTY: P {}", p.id());
            assert!(p.id() < self.procs() as usize, "P {} is none", p.id());
        }
        assert_eq!(gl.runq.len(), self.runqsize(), "runqsize");
        assert_eq!(gl.stranded & idle, 0, "Ps idle and stranded");
    }

    /// Everything in a line or two for each M and P. For people.
    pub fn whole_print(&self) {
        println!(
            "pidle {:#b} spinning {} needspinning {} runqsize {} gcwaiting {} stopwait {} stopping {}",
            self.pidle.load(Relaxed),
            self.nmspinning(),
            self.needspinning.load(Relaxed),
            self.runqsize(),
            self.gcwaiting.load(Relaxed),
            self.stopwait.load(Relaxed),
            self.stopping.load(Relaxed)
        );
        for m in &self.allm {
            println!(
                "M {} P {:?} G {:?} park {} spinning {} tray {} timer {}",
                m.id(),
                m.p().map(P::id),
                m.curg(),
                m.park.load(Relaxed),
                m.spinning.load(Relaxed),
                m.tray_len.load(Relaxed),
                m.armed_ns.load(Relaxed)
            )
        }
        for p in &self.allp {
            println!(
                "P {} M {:?} ring {} runnext {} woken {} timers {} until {} call {}",
                p.id(),
                p.holder().map(M::id),
                p.runq.len(),
                p.runq.has_runnext(),
                p.wakeup.queue.len(),
                p.timers.len(),
                p.timers.min_when_ns(),
                p.call.load(Relaxed)
            )
        }
    }

    /// What holds at the end.
    pub fn whole_check_end(&self) {
        self.whole_check();
        // One that a timer wakes after the end may go off spinning.
        let spin = self.allm.iter().filter(|m| m.spinning.load(Relaxed));
        assert_eq!(
            self.nmspinning() as usize,
            spin.count(),
            "Ms that spin, counted and seen"
        );
        assert_eq!(self.runqsize(), 0, "Gs are left in the global queue");
        assert!(!self.allp.iter().any(P::has_work), "Gs are left on a P");
        let timers: i64 = self.allp.iter().map(|p| p.timers.live()).sum();
        assert_eq!(timers, 0, "timers are left");
    }
}
