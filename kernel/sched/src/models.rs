//! What model-checking builds (`--cfg ringo_loom`) add: schedulers to be thrown away after each interleaving, a stand-in
//! for the halted CPU, and the steps that the models in `tests/loom/` put together. The steps are the kernel's own; there
//! are no stacks, so what `execute` would resume is handed to the model as plain data.

use crate::g::{GRef, GStatus, WaitReason};
use crate::m::M;
use crate::p::P;
use crate::park::Commit;
use crate::policy::Event;
use crate::sched::{Hooks, Sched};
use crate::stw::StopReason;
use crate::timers::TimerFn;
use base::config::Config;
use base::shim::Ordering::*;
use loom::sync::mpsc;

mod threads;
pub use threads::{as_m, parks, reversed, run_gs, set_clock};
pub(crate) use threads::{curg, m_ptr, park_thread, read_clock, ready, ready_thread, start_thread};

/// A CPU that halts until it is interrupted. As on the machine, the interrupt is remembered if it comes first. A thread
/// that waits here is blocked for loom, so that a lost wake-up is a deadlock that loom reports.
pub(crate) struct Bell(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Bell {
    pub fn new() -> Self {
        let (ring, rung) = mpsc::channel();
        Self(ring, rung)
    }
    pub fn ring(&self) {
        self.0.send(()).unwrap()
    }
    pub fn wait(&self) {
        self.1.recv().unwrap()
    }
}

/// A scheduler of `ms` Ms and `ps` Ps that has started its main G. All Ps are idle and no M has come yet.
pub fn sched(ms: usize, ps: usize) -> &'static Sched {
    fn fatal(_: &'static Sched, _: &'static str, text: core::fmt::Arguments) -> ! {
        panic!("{text}")
    }
    let cfg = Config {
        procs: Some(ps as u32),
        seed: Some(1),
        ..Config::DEFAULT
    };
    let s = Sched::new(
        cfg,
        ms,
        Hooks {
            fatal,
            late: |_, _, _| (),
        },
    );
    s.set_mcount(ms);
    s.main_started.store(true, Release);
    for p in &s.allp {
        p.schedtick.store(1, Relaxed) // none is at its look at the global queue
    }
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

/// A new G that is on no queue yet.
pub fn make_runnable(g: GRef) {
    g.set_status(GStatus::Dead, GStatus::Runnable)
}

impl Sched {
    /// M `m` holds P `p`, which was idle. Before the threads of the model start.
    pub fn model_hold(&'static self, m: usize, p: usize, spinning: bool) -> &'static M {
        let m = &self.allm[m];
        self.pidle
            .store(self.pidle.load(Relaxed) & !(1 << p), Relaxed);
        self.acquirep(m, self.p_static(p));
        if spinning {
            self.become_spinning(m)
        }
        m
    }

    /// `m` spun and has just dropped its P: it still counts as spinning. Before the threads of the model start.
    pub fn model_dropped_p(&'static self, m: usize) -> &'static M {
        let m = &self.allm[m];
        self.become_spinning(m);
        m
    }

    /// `m` found nothing and may not spin.
    pub fn model_go_idle(&self, m: &M) {
        let p = m.p().expect("a P to drop");
        self.go_idle(m, p)
    }

    /// A wake-up found no idle P. Before the threads of the model start.
    pub fn model_needspinning(&self) {
        self.needspinning.store(1, Relaxed)
    }

    /// What `go_idle` does after the P was dropped.
    pub fn model_stop_looking(&self, m: &M) {
        self.stop_looking(m)
    }

    /// What `schedule` does up to the switch: the next G, None when the run is over.
    pub fn model_next(&self, m: &M) -> Option<GRef> {
        let found = self.pick(m)?;
        let p = m.p().expect("who found a G holds a P");
        let owner = p.m.load(Relaxed);
        assert!(core::ptr::eq(owner, m), "P {} has two owners", p.id());
        Some(found.g)
    }

    /// What `newproc` does with a G that is made.
    pub fn model_new(&self, m: &M, g: GRef) {
        make_runnable(g);
        self.runqput(m, g, Event::New);
        self.wakep()
    }

    /// What the clock does for a G, here a new one, at a safe point of `m`.
    pub fn model_woken(&self, m: &M, g: GRef) {
        make_runnable(g);
        self.runqput(m, g, Event::Woken);
        self.wakep()
    }

    /// A new G for the global queue, as one comes there that gave way, and somebody woken for it.
    pub fn model_new_global(&self, m: &M, g: GRef) {
        make_runnable(g);
        self.runqput(m, g, Event::Yielded);
        self.wakep()
    }

    /// New Gs wait in the global queue. Before the threads of the model start.
    pub fn model_queue_global(&self, gs: &[GRef]) {
        for &g in gs {
            make_runnable(g);
            self.globrunqput(g)
        }
    }

    /// `goready`.
    pub fn model_ready(&self, m: &M, g: GRef) {
        self.ready(m, g)
    }

    /// The model's G runs.
    pub fn model_run(&self, m: &M, g: GRef) {
        g.set_status(GStatus::Runnable, GStatus::Running);
        m.curg.store(g.as_ptr(), Relaxed)
    }

    /// What `gopark` does on g0 for the running G. False: it goes on at once.
    ///
    /// # Safety
    /// As `gopark`.
    pub unsafe fn model_park(&self, m: &M, g: GRef, commit: Commit) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.park_running(m, g, WaitReason::ChanReceive, commit) }
    }

    /// G `g` is locked to M number `to`.
    pub fn model_lock(&self, to: usize, g: GRef) {
        g.lockedm
            .store(&self.allm[to] as *const M as *mut M, Relaxed)
    }

    /// `m` found G `g`, new and locked to M number `to`.
    pub fn model_deliver(&'static self, m: &M, to: usize, g: GRef) {
        make_runnable(g);
        self.model_lock(to, g);
        self.deliver(m, &self.allm[to], g)
    }

    /// What `with_world_stopped` does on g0: `f` is called when the world stands.
    pub fn model_stop_world(&self, m: &M, f: impl FnOnce()) {
        self.stop_the_world(m, StopReason::Look, crate::timers::NEVER);
        f();
        self.start_the_world(m)
    }

    /// Is P `p` held by nobody and on no list (I-STW)?
    pub fn model_p_stands(&self, p: usize) -> bool {
        !self.allp[p].is_running() && self.pidle.load(Relaxed) & (1 << p) == 0
    }

    /// `entersyscall` of the G that runs.
    pub fn model_enter_call(&self, m: &M, g: GRef) {
        self.enter_call(m, g)
    }

    /// `exitsyscall`. False: the G is in the global queue.
    pub fn model_exit_call(&self, m: &M, g: GRef) -> bool {
        let has_p = self.exit_call(m, g);
        if has_p {
            let p = m.p().expect("it has one");
            let owner = p.m.load(Relaxed);
            assert!(core::ptr::eq(owner, m), "P {} has two owners", p.id());
        }
        if !has_p {
            self.wait_for_p(g)
        }
        has_p
    }

    /// sysmon finds that the call on P `p` lasts too long.
    pub fn model_retake(&self, p: usize) {
        self.retake_and_hand_on(self.p_static(p));
    }

    /// `m` is listed as idle and does sysmon's work. Before the threads of the model start.
    pub fn model_listed(&'static self, m: usize) -> &'static M {
        self.lock.lock().midle |= 1 << m;
        &self.allm[m]
    }

    /// And then sleeps until somebody hands it a P, or the run is over.
    pub fn model_sleep(&self, m: &M) {
        while !self.park(m, crate::timers::NEVER) {}
    }

    /// A runnable G waits on P `p`'s queue, and nobody was woken for it. Before the threads of the model start.
    pub fn model_queue(&self, p: usize, g: GRef) {
        make_runnable(g);
        assert!(self.allp[p].runq.put(g).is_ok(), "room in the ring")
    }

    /// What `sleep` does on g0, with a function of the model's own.
    ///
    /// # Safety
    /// `f(arg, _)` may be called once.
    pub unsafe fn model_add_timer(&self, m: &M, when_ns: u64, f: TimerFn, arg: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.add_timer(m, when_ns, f, arg) }
    }

    /// What is due at `now_ns` on P `p` fires: a timer's call, on `m`, whoever's P it is.
    pub fn model_run_timers(&self, m: &M, p: usize, now_ns: u64) -> u32 {
        m.serving.store(true, Relaxed);
        let ran = self.allp[p].timers.run_due(now_ns);
        m.serving.store(false, Relaxed);
        ran
    }

    /// `m` is idle and keeps time: it wakes at `when_ns`. Before the threads of the model start.
    pub fn model_keeps_time(&'static self, m: usize, when_ns: u64) -> &'static M {
        let mut gl = self.lock.lock();
        gl.midle |= 1 << m;
        gl.poll_m = Some(m as u32);
        self.poll_until_ns.store(when_ns, Relaxed);
        &self.allm[m]
    }

    /// What `stopm` does when the deadline has passed, if there is an idle P.
    pub fn model_deadline_passed(&self, m: &M) {
        if self.leave_idle_list(m) {
            assert!(self.take_idle_p(m, false), "an idle P")
        }
    }

    /// A device's interrupt is served at a safe point of `m`.
    pub fn model_netpoll(&self, m: &M) {
        self.netpoll(m);
    }

    /// sysmon finds that nobody has looked at the network, on an M that has no P.
    pub fn model_ask_netpoll(&self) {
        self.ask_netpoll()
    }

    /// The running G waits on `desc`, to read. False: it goes on at once.
    pub fn model_poll_wait(&self, m: &M, g: GRef, desc: &crate::netpoll::PollDesc) -> bool {
        match desc.model_announce() {
            // SAFETY: whoever takes the G out of the descriptor readies it, once.
            Some(commit) => unsafe { self.park_running(m, g, WaitReason::IoWait, commit) },
            None => false,
        }
    }

    /// Is there work on any queue? Once all threads have ended.
    pub fn model_work_left(&self) -> bool {
        self.runqsize() != 0 || self.allp.iter().any(P::has_work)
    }
}
