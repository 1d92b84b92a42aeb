//! Sched: what all Ms of one machine share. A value, not a static: reached through the M, so that tests and models can
//! have as many as they like.
//!
//! **I-GLOBAL** `pidle`, `runqsize` and the poll deadline are changed only under `lock`, and read by anybody without it
//! as a hint; who acts on the hint takes the lock and looks again.

use crate::foreign::Foreign;
use crate::g::GRef;
use crate::gqueue::GQueue;
use crate::m::M;
use crate::metrics::Measured;
use crate::netpoll::Netpoll;
use crate::p::P;
use crate::schedtrace::SchedTrace;
use crate::steal::StealOrder;
use crate::stw::WorldSema;
use crate::sysmon::Sysmon;
use crate::timers::NEVER;
use base::config::{Config, Preempt};
use base::shim::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use base::{Rank, SpinLock};

extern crate alloc;
use alloc::boxed::Box;

/// What the layer above does at the end of a program. Runs with preemption off.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// End the run because of an error that no G can handle. `kind` is a word or two for machines ("deadlock"), `text`
    /// is Go's sentence.
    pub fatal: fn(&'static Sched, kind: &'static str, text: core::fmt::Arguments) -> !,
    /// Interrupts or preemption were off for too long on this CPU, under this G or its scheduler (`late.rs`). The machine
    /// goes on.
    pub late: fn(cpu: usize, g: Option<GRef>, late_ns: u64),
}

/// What the lock guards.
pub(crate) struct Global {
    /// The global run queue.
    pub runq: GQueue,
    /// Dead Gs for any P.
    pub gfree: GQueue,
    /// Idle Ms, a bit each: no P, halted or about to halt.
    pub midle: u64,
    /// The idle M that wakes for timers of idle Ps.
    pub poll_m: Option<u32>,
    /// When all Ms had come onto the idle list, by the machine's clock, if another clock keeps pace with that one meanwhile
    /// (I-PACE); else [`NEVER`].
    pub pace_since_ns: u64,
    /// How often an M left the idle list.
    pub mleaves: u64,
    /// Runnable Gs that are locked to an M, for each M: `locked.rs`.
    pub trays: Box<[GQueue]>,
    /// Ps with nobody to run them, a bit each: `handoff.rs`.
    pub stranded: u64,
    /// Ps that a stop of the world still waits for.
    pub stopwait: u32,
    /// Those that stand by now, a bit each.
    pub standing: u64,
}

/// The shared state of the scheduler (Go: `schedt`).
pub struct Sched {
    /// How it is set up.
    pub cfg: Config,
    pub(crate) hooks: Hooks,
    /// All Ps that there can be: one for each CPU. Those from `nprocs` on are not in use.
    pub allp: Box<[P]>,
    /// All Ms, one for each CPU that could come.
    pub allm: Box<[M]>,
    /// Ms that run: CPUs that came. Beyond all bounds until that is known, so that early Ms are not taken for all.
    pub(crate) mcount: AtomicU32,
    /// Ps in use (Go: `gomaxprocs`). Changes while the world stands.
    pub(crate) nprocs: AtomicU32,
    pub(crate) lock: SpinLock<Global>,
    pub(crate) worldsema: SpinLock<WorldSema>,
    /// The world is stopped or being stopped: nobody runs Gs.
    pub(crate) gcwaiting: AtomicBool,
    /// Copy of `Global::stopwait` for the one that waits.
    pub(crate) stopwait: AtomicU32,
    /// Length of the global run queue (I-GLOBAL).
    pub(crate) runqsize: AtomicU32,
    /// Length of the shared list of dead Gs, likewise.
    pub(crate) gfreesize: AtomicU32,
    /// Idle Ps, a bit each (I-GLOBAL).
    pub(crate) pidle: AtomicU64,
    /// Ms that look for work and have none.
    pub(crate) nmspinning: AtomicU32,
    /// A wake-up found no idle P: an M that is about to give its P up must look once more.
    pub(crate) needspinning: AtomicU32,
    /// Ms that poll their wake word before they halt.
    pub(crate) npolling: AtomicU32,
    /// When `Global::poll_m` wakes (I-GLOBAL).
    pub(crate) poll_until_ns: AtomicU64,
    /// The program's clock where it is not the machine's: `clock.rs`.
    pub(crate) virtual_ns: AtomicU64,
    pub(crate) netpoll: Netpoll,
    pub(crate) foreign: Foreign,
    pub(crate) sysmon: Sysmon,
    pub(crate) measured: Measured,
    pub(crate) schedtrace: SchedTrace,
    /// Victim orders, for each number of Ps.
    pub(crate) orders: Box<[StealOrder]>,
    pub(crate) goidgen: AtomicU64,
    /// All Gs ever made, newest first.
    #[cfg(not(ringo_kernel))]
    pub(crate) allgs: base::shim::AtomicPtr<crate::g::G>,
    /// The main G was started: from here on new Gs wake Ps.
    pub(crate) main_started: AtomicBool,
    /// Host machine: the run is over, Ms leave.
    pub(crate) stopping: AtomicBool,
}

impl Sched {
    /// A scheduler for up to `cpus` CPUs with `cfg.procs` Ps (default: as many as CPUs). It lives for ever.
    ///
    /// # Panics
    /// If there are more Ps than CPUs, none, or more than 64 of either: the runner and the start-up check that.
    pub fn new(cfg: Config, cpus: usize, hooks: Hooks) -> &'static Sched {
        let procs = cfg.procs.map_or(cpus, |p| p as usize);
        assert!(
            1 <= procs && procs <= cpus && cpus <= arch::MAX_CPUS,
            "{procs} Ps on {cpus} CPUs"
        );
        crate::clock::note(&cfg);
        let seed = cfg.seed.unwrap_or_else(arch::now_ns);
        let all_idle = if procs == 64 {
            u64::MAX
        } else {
            (1 << procs) - 1
        };
        let s: &'static Sched = Box::leak(Box::new(Sched {
            cfg,
            hooks,
            nprocs: AtomicU32::new(procs as u32),
            worldsema: SpinLock::new(Rank::Channel, WorldSema::new()),
            gcwaiting: AtomicBool::new(false),
            stopwait: AtomicU32::new(0),
            allp: (0..cpus)
                .map(|i| P::new(i as u32, seed ^ (i as u64) << 32))
                .collect(),
            allm: (0..cpus).map(|i| M::new(i as u32)).collect(),
            mcount: AtomicU32::new(u32::MAX),
            lock: SpinLock::new(
                Rank::Sched,
                Global {
                    runq: GQueue::new(),
                    gfree: GQueue::new(),
                    midle: 0,
                    poll_m: None,
                    pace_since_ns: NEVER,
                    mleaves: 0,
                    trays: (0..cpus).map(|_| GQueue::new()).collect(),
                    stranded: 0,
                    stopwait: 0,
                    standing: 0,
                },
            ),
            runqsize: AtomicU32::new(0),
            gfreesize: AtomicU32::new(0),
            pidle: AtomicU64::new(all_idle),
            nmspinning: AtomicU32::new(0),
            needspinning: AtomicU32::new(0),
            npolling: AtomicU32::new(0),
            poll_until_ns: AtomicU64::new(NEVER),
            virtual_ns: AtomicU64::new(0),
            netpoll: Netpoll::new(),
            foreign: Foreign::new(),
            sysmon: Sysmon::new(),
            measured: Measured::new(cpus),
            schedtrace: SchedTrace::new(&cfg),
            orders: (1..=cpus as u32).map(StealOrder::new).collect(),
            goidgen: AtomicU64::new(1),
            #[cfg(not(ringo_kernel))]
            allgs: base::shim::AtomicPtr::new(core::ptr::null_mut()),
            main_started: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }));
        for m in &s.allm {
            m.set_sched(s)
        }
        s.allp.iter().take(procs).for_each(P::idle_begins);
        s
    }

    /// Number of Ps (Go: `gomaxprocs`).
    #[inline]
    pub fn procs(&self) -> u32 {
        self.nprocs.load(Relaxed)
    }

    /// Number of Ms, which is the number of CPUs that run.
    pub fn mcount(&self) -> u32 {
        self.mcount.load(Relaxed)
    }

    /// Number of idle Ps. A hint (I-GLOBAL).
    pub fn npidle(&self) -> u32 {
        self.pidle.load(Relaxed).count_ones()
    }

    /// Number of Ms that look for work. Never above half of the busy Ps, rounded up, plus those that wake-ups started.
    pub fn nmspinning(&self) -> u32 {
        self.nmspinning.load(Relaxed)
    }

    /// Length of the global run queue. A hint (I-GLOBAL).
    pub fn runqsize(&self) -> u32 {
        self.runqsize.load(Relaxed)
    }

    /// Are Gs preempted at any instruction? Then each busy CPU serves its own P's timers on time.
    #[inline]
    pub(crate) fn cpus_tick(&self) -> bool {
        crate::INTERRUPTS && self.cfg.preempt == Preempt::Async
    }

    /// Length of a slice.
    pub(crate) fn slice_ns(&self) -> u64 {
        self.cfg.slice_us as u64 * 1000
    }
}
