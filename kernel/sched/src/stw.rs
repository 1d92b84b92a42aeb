//! Stopping the world, and changing the number of Ps while it stands (Go: proc.go, `stopTheWorldWithSema`,
//! `startTheWorldWithSema`, `gcstopm`, `procresize`; debug.go, `GOMAXPROCS`).
//!
//! ```text
//!   caller, on g0                          every other M with a P
//!   gcwaiting = true, take idle Ps ──────► safe point or next look for work: the running G to its P's runnext,
//!   ask again every 100 µs                 gcstopm: P given up, M listed as idle, stopwait -= 1
//!   stopwait = 0: the world stands
//!   … the change …
//!   gcwaiting = false; each P with work ─► back to the M that held it last, which carries on with the same G
//!   Ps without work to the idle list, one M woken
//! ```
//!
//! **I-STW** While the world stands, every P but the caller's is held by nobody and on no list; nothing changes a P but the
//! caller.
//!
//! The caller waits on g0 with interrupts enabled and holds no lock. A G that no safe point reaches (`preempt=off`, a loop
//! without calls) makes it wait for ever, as in Go. Who only wants to look gives up after a while: the Ps that stand by then go
//! on as after a stop, the others have never stopped.

use crate::g::WaitReason;
use crate::gqueue::GQueue;
use crate::m::M;
use crate::p::P;
use crate::park::{current, goready, park_unlock};
use crate::sched::{Global, Sched};
use crate::schedule::m_on_g0;
use crate::timers::NEVER;
use base::config::Preempt;
use base::mutant::mutant;
use base::shim::Ordering::*;
use base::{PreemptGuard, SpinGuard};

/// How long a stop waits before it asks again those that have not come.
const ASK_AGAIN_NS: u64 = 100_000;

/// How long one that only looks waits for Gs that cannot be interrupted.
const LOOK_NS: u64 = 1_000_000_000;

/// Why the world is stopped: what a trace names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// The number of Ps changes.
    GoMaxProcs = 1,
    /// A caller wants to look at everything at once.
    Look = 2,
}

impl StopReason {
    /// All of them.
    pub const ALL: [StopReason; 2] = [Self::GoMaxProcs, Self::Look];

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize - 1
    }

    /// A word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::GoMaxProcs => "gomaxprocs",
            Self::Look => "look",
        }
    }
}

/// Who may stop the world: one G at a time, first come, first served (Go: `worldsema`).
pub(crate) struct WorldSema {
    held: bool,
    waiting: GQueue,
}

impl WorldSema {
    pub(crate) const fn new() -> Self {
        Self {
            held: false,
            waiting: GQueue::new(),
        }
    }
}

impl Sched {
    fn acquire_world(&self) {
        let mut w = self.worldsema.lock();
        if w.held {
            w.waiting.push_back(current());
            park_unlock(w, WaitReason::StoppingTheWorld) // the one before hands it over
        } else {
            w.held = true
        }
    }

    fn release_world(&self) {
        let mut w = self.worldsema.lock();
        let next = w.waiting.pop();
        w.held = next.is_some();
        drop(w);
        if let Some(g) = next {
            goready(g)
        }
    }

    /// Call `f` on g0 while nothing else runs Gs. From a goroutine that holds no guard.
    pub fn with_world_stopped<R>(&'static self, reason: StopReason, f: impl FnOnce(&M) -> R) -> R {
        let result = self.with_world_stopped_within(reason, NEVER, f);
        result.expect("a stop without a limit")
    }

    /// The same for one that only looks: `None` if a G that cannot be interrupted keeps its CPU for a second.
    pub fn look_with_world_stopped<R>(&'static self, f: impl FnOnce(&M) -> R) -> Option<R> {
        let interrupts = crate::INTERRUPTS && self.cfg.preempt == Preempt::Async;
        let limit_ns = if interrupts { NEVER } else { LOOK_NS };
        self.with_world_stopped_within(StopReason::Look, limit_ns, f)
    }

    fn with_world_stopped_within<R>(
        &'static self,
        reason: StopReason,
        limit_ns: u64,
        f: impl FnOnce(&M) -> R,
    ) -> Option<R> {
        struct Call<F, R> {
            reason: StopReason,
            limit_ns: u64,
            f: Option<F>,
            result: Option<R>,
        }
        extern "C" fn on_g0<F: FnOnce(&M) -> R, R>(arg: usize) {
            // SAFETY: the frame below, which waits for this call.
            let call = unsafe { &mut *(arg as *mut Call<F, R>) };
            let m = m_on_g0();
            let s = m.sched();
            if s.stop_the_world(m, call.reason, call.limit_ns) {
                call.result = call.f.take().map(|f| f(m));
                s.start_the_world(m)
            }
        }
        fn target<F: FnOnce(&M) -> R, R>(_: &Call<F, R>) -> extern "C" fn(usize) {
            on_g0::<F, R>
        }
        assert!(
            M::current(&PreemptGuard::new()).p().is_some(),
            "a goroutine stops the world inside blocking()"
        );
        self.acquire_world();
        let mut call = Call {
            reason,
            limit_ns,
            f: Some(f),
            result: None,
        };
        let run = target(&call);
        let guard = PreemptGuard::new();
        // SAFETY: preemption is off, this is a G's stack, and `on_g0` comes back to it.
        unsafe { arch::on_g0(run, &raw mut call as usize) };
        drop(guard);
        self.release_world();
        call.result
    }

    /// Returns when every other P is stopped (I-STW). False: some were not after `limit_ns`, and all go on.
    pub(crate) fn stop_the_world(&self, m: &M, reason: StopReason, limit_ns: u64) -> bool {
        trace::emit(trace::Kind::StopTheWorld, 0, reason as u32);
        self.pause_begins(reason);
        let mut gl = self.lock.lock();
        let free = self.pidle.swap(0, AcqRel) | core::mem::take(&mut gl.stranded);
        crate::handoff::emit_for_each(trace::Kind::ProcTake, free);
        gl.stopwait = self.procs() - 1 - free.count_ones();
        gl.standing = free;
        self.stopwait.store(gl.stopwait, Relaxed);
        // SeqCst: an M that takes a P after this sees it when it next looks for work; one that runs a G is told below.
        self.gcwaiting.store(true, SeqCst);
        drop(gl);
        let end_ns = arch::now_ns().saturating_add(limit_ns);
        // Acquire: pairs with the store in `stands`: what was done on those Ps is seen.
        while self.stopwait.load(Acquire) != 0 {
            if limit_ns != NEVER && arch::now_ns() >= end_ns && self.give_up_stop(m) {
                return false;
            }
            self.preempt_all(m);
            self.take_ps_in_calls();
            let again = if cfg!(ringo_loom) {
                0 // models have no clock
            } else {
                arch::now_ns() + ASK_AGAIN_NS
            };
            let mut round = 0;
            loop {
                base::shim::spin_wait(round);
                round += 1;
                if self.stopwait.load(Acquire) == 0 || arch::now_ns() >= again {
                    break;
                }
            }
        }
        self.pause_stands();
        true
    }

    /// One P more stands.
    pub(crate) fn stands(&self, gl: &mut Global, p: &P) {
        gl.standing |= 1 << p.id();
        gl.stopwait -= 1;
        // Release: pairs with the load in `stop_the_world`.
        self.stopwait.store(gl.stopwait, Release)
    }

    /// The stop takes too long: those that stand go on, nobody waits for the others. False: all stand now.
    #[cold]
    fn give_up_stop(&self, m: &M) -> bool {
        let mut gl = self.lock.lock();
        if gl.stopwait == 0 {
            return false;
        }
        gl.stopwait = 0;
        self.stopwait.store(0, Release);
        let standing = if mutant("give_up_starts_all") {
            u64::MAX
        } else {
            gl.standing
        };
        self.start_again(gl, m, standing);
        true
    }

    /// Ps whose Gs are in blocking calls are as good as idle: their Ms find them gone when they come back.
    fn take_ps_in_calls(&self) {
        for p in self.allp.iter().take(self.procs() as usize) {
            if p.call.load(Relaxed) != crate::handoff::NONE && self.retake_p(p) {
                self.stands(&mut self.lock.lock(), p)
            }
        }
    }

    /// Ask every M that runs a G to come to a safe point (Go: `preemptall`).
    fn preempt_all(&self, except: &M) {
        let ms = self.allm.iter().take(self.mcount() as usize);
        for m in ms.filter(|m| m.id() != except.id() && m.p().is_some()) {
            m.interrupt()
        }
    }

    /// The world is being stopped and this M came by: give the P up and wait (Go: `gcstopm`). Returns like `stopm`.
    #[cold]
    pub(crate) fn gcstopm(&self, m: &M, p: &'static P) {
        let mut gl = self.lock.lock();
        if !self.gcwaiting.load(Relaxed) {
            return;
        }
        if m.spinning.swap(false, Relaxed) {
            self.nmspinning.fetch_sub(1, SeqCst);
        }
        self.releasep(m, p);
        if !mutant("tray_kept_at_stop") {
            self.put_tray_back(&mut gl, m);
        }
        self.stands(&mut gl, p);
        self.wait_listed(gl, m)
    }

    /// Go's `startTheWorldWithSema`: every P with work gets an M, and one more M is woken.
    pub(crate) fn start_the_world(&self, m: &M) {
        self.pause_ends();
        let gl = self.lock.lock();
        self.start_again(gl, m, u64::MAX);
        if self.netpoll.is_set() {
            self.netpoll(m); // what came meanwhile
        }
    }

    /// The Ps of the mask stand, and go on.
    fn start_again(&self, mut gl: SpinGuard<'_, Global>, m: &M, standing: u64) {
        let (mut woken, mut homeless) = (0u64, 0u64);
        self.gcwaiting.store(false, SeqCst);
        let mine = m.p().map(|p| p.id());
        let stands = |i: &usize| Some(*i) != mine && standing & 1 << i != 0;
        for i in (0..self.procs() as usize).filter(stands) {
            let p = self.p_static(i);
            let to = if p.has_work() {
                self.mget(&mut gl, p)
            } else {
                None
            };
            match to {
                Some(to) => {
                    to.nextp.store(p as *const P as *mut P, Release);
                    woken |= 1 << to.id()
                }
                // Its M is still in the blocking call from which the stop took it: an idle P has no work (I-IDLE-EMPTY).
                None if (p.has_work() || !p.timers.is_empty()) && !mutant("start_call_idle") => {
                    homeless |= 1 << i
                }
                None => {
                    p.idle_begins();
                    self.list_idle(&mut gl, p)
                }
            }
        }
        drop(gl);
        trace::emit(trace::Kind::StopTheWorld, 0, 0);
        for to in self.allm.iter().filter(|to| woken & (1 << to.id()) != 0) {
            self.notewakeup(to)
        }
        for i in (0..self.procs() as usize).filter(|i| homeless & (1 << i) != 0) {
            self.handoffp(self.p_static(i))
        }
        if !mutant("start_no_wakep") {
            self.wakep() // for those that trusted a spinning M that stopped
        }
    }

    /// Set the number of Ps to `n`, at least 1 and at most the CPUs; the number before. 0 only asks (Go: `GOMAXPROCS`).
    pub fn gomaxprocs(&'static self, n: usize) -> usize {
        let before = self.procs() as usize;
        let n = n.min(self.mcount() as usize);
        if n == 0 || n == before {
            return before;
        }
        self.with_world_stopped(StopReason::GoMaxProcs, |m| {
            let before = self.procs() as usize;
            self.procresize(m, n);
            before
        })
    }

    /// The world stands: make it `n` Ps. The caller keeps its P, or gets P0 if its own is gone (Go: `procresize`).
    pub(crate) fn procresize(&self, m: &M, n: usize) {
        let before = self.procs() as usize;
        let own = m.p().expect("the caller holds a P");
        let keep = if own.id() < n { own } else { self.p_static(0) };
        if keep.id() != own.id() {
            self.releasep(m, own);
            self.acquirep(m, keep);
            if let Some(g) = m.curg() {
                g.traced(trace::Kind::GoMove, keep.id() as u32)
            }
        }
        self.note_procs();
        let mut gl = self.lock.lock();
        for i in n..before {
            self.retire(&mut gl, self.p_static(i))
        }
        self.nprocs.store(n as u32, Relaxed);
        drop(gl);
        for i in n..before {
            if !mutant("resize_keeps_timers") {
                self.p_static(i).timers.move_to(&keep.timers)
            }
        }
        self.arm(m, keep)
    }

    /// Take everything out of a P that goes away: its Gs go to the head of the global queue, in their order.
    fn retire(&self, gl: &mut Global, p: &'static P) {
        let mut q = p.drain();
        p.idle_ends();
        q.append(&mut gl.runq);
        gl.runq = q;
        self.runqsize.store(gl.runq.len(), Release);
        // SAFETY: I-STW: nobody holds the P.
        let owned = unsafe { p.owned() };
        gl.gfree.append(&mut owned.gfree);
        self.gfreesize.store(gl.gfree.len(), Relaxed);
    }
}
