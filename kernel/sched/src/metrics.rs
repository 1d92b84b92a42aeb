//! What the scheduler measures about itself (Go: runtime/metrics, the `/sched`, `/sync` and `/cpu` families; proc.go,
//! `casgstatus`).
//!
//! A way through the scheduler that is hot pays for it with a count: every eighth time that a G stops running, it is
//! *tracked*, and the clock is read when it becomes runnable and again when it runs (Go: `gTrackingPeriod`). A G's first
//! phase is random, so that patterns do not hide. Who yields is not counted (docs/adr/0008).
//!
//! ```text
//!   since = 0 ── stops running, every 8th time ──► 1 (TRACKED) ── becomes runnable ──► now ── runs: one value ──► 0
//! ```
//!
//! All else is counted where it is rare: P idle times when an M comes or goes, stops of the world once each, waits for a
//! mutex when they are over.

use crate::g::{G, GRef, GStatus};
use crate::histogram::{Counts, TimeHistogram};
use crate::m::M;
use crate::p::P;
use crate::sched::Sched;
use crate::stw::StopReason;
use base::{LockWaits, Rank};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

extern crate alloc;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Every so many times that a G stops running it is tracked (Go: `gTrackingPeriod`).
pub const TRACKING_PERIOD: u32 = 8;
/// Tracked, and not runnable yet.
const TRACKED: u64 = 1;

/// The clock; models have none.
fn clock_ns() -> u64 {
    if cfg!(ringo_loom) { 0 } else { arch::now_ns() }
}

impl G {
    /// It stops running. True: it is tracked from here on.
    #[inline]
    fn count_leave(&self) -> bool {
        let n = self.leaves.load(Relaxed).wrapping_add(1);
        self.leaves.store(n, Relaxed);
        n.is_multiple_of(TRACKING_PERIOD)
    }

    /// It stops running and is not runnable.
    #[inline]
    pub(crate) fn stops(&self) {
        if self.count_leave() {
            self.runnable_since_ns.store(TRACKED, Relaxed)
        }
    }

    /// It stops running and is runnable.
    #[inline]
    pub(crate) fn stops_runnable(&self) {
        if self.count_leave() {
            self.runnable_from_now()
        }
    }

    /// Out of line: those that call it are hot, and shall not save registers for what they rarely do.
    #[cold]
    #[inline(never)]
    fn runnable_from_now(&self) {
        self.runnable_since_ns.store(clock_ns(), Relaxed)
    }

    /// It becomes runnable.
    #[inline]
    pub(crate) fn becomes_runnable(&self) {
        if self.runnable_since_ns.load(Relaxed) != 0 {
            self.runnable_from_now()
        }
    }

    /// It waits from now on, as the clock of its CPU's ticks has it.
    #[inline]
    pub(crate) fn waits_since(&self, m: &M) {
        let now_ns = if cfg!(ringo_loom) {
            0
        } else if crate::INTERRUPTS {
            // At most a slice ahead: parking reads no clock. So a wait is never said to be longer than it is.
            m.next_tick_ns.load(Relaxed)
        } else {
            arch::now_ns()
        };
        self.wait_since_ns.store(now_ns, Relaxed)
    }

    /// For how long it has waited by now, in ns, a slice less at most; meaningful in state waiting.
    pub fn waited_ns(&self) -> u64 {
        clock_ns().saturating_sub(self.wait_since_ns.load(Relaxed))
    }
}

/// Stops of the world for one reason.
pub(crate) struct Pauses {
    stopping: TimeHistogram,
    total: TimeHistogram,
}

/// What a scheduler keeps of its measurements.
pub(crate) struct Measured {
    /// From runnable to running, for each M.
    latencies: Box<[TimeHistogram]>,
    pauses: [Pauses; StopReason::ALL.len()],
    /// The stop that is under way. Touched by the one that stops the world.
    pause_began_ns: AtomicU64,
    pause_reason: AtomicU64,
    /// Gs have waited so long for mutexes, in all.
    mutex_wait_ns: AtomicU64,
    /// Time times number of Ps, up to the last change of that number, and when that was.
    procs_ns: AtomicU64,
    procs_since_ns: AtomicU64,
    /// What was said last of the time in which Ps had an M: it never falls.
    user_told_ns: AtomicU64,
}

impl Measured {
    pub fn new(cpus: usize) -> Self {
        Self {
            latencies: (0..cpus).map(|_| TimeHistogram::new()).collect(),
            pauses: core::array::from_fn(|_| Pauses {
                stopping: TimeHistogram::new(),
                total: TimeHistogram::new(),
            }),
            pause_began_ns: AtomicU64::new(0),
            pause_reason: AtomicU64::new(0),
            mutex_wait_ns: AtomicU64::new(0),
            procs_ns: AtomicU64::new(0),
            procs_since_ns: AtomicU64::new(clock_ns()),
            user_told_ns: AtomicU64::new(0),
        }
    }
}

impl P {
    /// It goes to the idle list; nothing happens if it was on its way between idle lists.
    pub(crate) fn idle_begins(&self) {
        if self.idle_since_ns.load(Relaxed) == 0 {
            self.idle_since_ns.store(clock_ns(), Relaxed)
        }
    }

    /// An M takes it, or it goes out of use.
    pub(crate) fn idle_ends(&self) {
        let since_ns = self.idle_since_ns.swap(0, Relaxed);
        if since_ns != 0 {
            let idle_ns = clock_ns().saturating_sub(since_ns);
            self.idle_ns.fetch_add(idle_ns, Relaxed);
        }
    }

    fn idle_so_far_ns(&self, now_ns: u64) -> u64 {
        told(
            &self.idle_told_ns,
            so_far(&self.idle_since_ns, &self.idle_ns, now_ns),
        )
    }
}

/// A sum of intervals, of which one may be going on. Read while one ends, it may lack that one, and is never too large.
pub(crate) fn so_far(since_ns: &AtomicU64, sum_ns: &AtomicU64, now_ns: u64) -> u64 {
    let (since_ns, sum_ns) = (since_ns.load(Relaxed), sum_ns.load(Relaxed));
    let last = if since_ns == 0 {
        0
    } else {
        now_ns.saturating_sub(since_ns)
    };
    sum_ns + last
}

/// What is said of a sum does not fall.
pub(crate) fn told(told: &AtomicU64, now: u64) -> u64 {
    told.fetch_max(now, Relaxed).max(now)
}

impl Sched {
    /// A tracked G runs: how long it was runnable is one value. Returns what `execute` does.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_latency(&self, m: &M, g: GRef) -> *const arch::Context {
        let since_ns = g.runnable_since_ns.load(Relaxed);
        g.runnable_since_ns.store(0, Relaxed);
        if since_ns > TRACKED {
            self.measured.latencies[m.id()].record(clock_ns().saturating_sub(since_ns))
        }
        &raw const g.ctx
    }

    /// A G has waited so long for a mutex (Go: `sched.totalMutexWaitTime`).
    pub(crate) fn note_mutex_wait(&self, ns: u64) {
        self.measured.mutex_wait_ns.fetch_add(ns, Relaxed);
    }

    pub(crate) fn pause_begins(&self, reason: StopReason) {
        let k = &self.measured;
        k.pause_began_ns.store(clock_ns(), Relaxed);
        k.pause_reason.store(reason.index() as u64, Relaxed);
    }

    fn pause(&self) -> (&Pauses, u64) {
        let k = &self.measured;
        let ns = clock_ns().saturating_sub(k.pause_began_ns.load(Relaxed));
        (&k.pauses[k.pause_reason.load(Relaxed) as usize], ns)
    }

    /// Everybody has stopped.
    pub(crate) fn pause_stands(&self) {
        let (p, ns) = self.pause();
        p.stopping.record(ns)
    }

    pub(crate) fn pause_ends(&self) {
        let (p, ns) = self.pause();
        p.total.record(ns)
    }

    /// The number of Ps is about to change.
    pub(crate) fn note_procs(&self) {
        let (k, now_ns) = (&self.measured, clock_ns());
        let since_ns = k.procs_since_ns.swap(now_ns, Relaxed);
        let ns = now_ns.saturating_sub(since_ns) * u64::from(self.procs());
        k.procs_ns.fetch_add(ns, Relaxed);
    }

    /// All measurements as they stand. The parts are of slightly different instants.
    pub fn metrics(&self) -> Metrics {
        let k = &self.measured;
        let mut latencies = Counts::new();
        k.latencies.iter().for_each(|h| h.add_to(&mut latencies));
        let pauses = StopReason::ALL.map(|reason| {
            let p = &k.pauses[reason.index()];
            let mut m = PauseMetrics {
                reason,
                stopping: Counts::new(),
                total: Counts::new(),
            };
            // Total first: a pause that ends meanwhile is in `stopping` already.
            p.total.add_to(&mut m.total);
            p.stopping.add_to(&mut m.stopping);
            m
        });
        let now_ns = clock_ns();
        let idle_ns: Vec<u64> = self.allp.iter().map(|p| p.idle_so_far_ns(now_ns)).collect();
        let halted_ns = self.allm.iter().map(|m| m.halted_so_far_ns(now_ns));
        let halted_ns: Vec<u64> = halted_ns.collect();
        let running_ns = now_ns.saturating_sub(k.procs_since_ns.load(Relaxed));
        let all_ns = k.procs_ns.load(Relaxed) + running_ns * u64::from(self.procs());
        let user_ns = all_ns.saturating_sub(idle_ns.iter().sum());
        Metrics {
            gomaxprocs: self.procs(),
            threads: self.mcount(),
            goroutines: self.goroutines(),
            created: self.created(),
            latencies,
            pauses,
            mutex_wait_ns: k.mutex_wait_ns.load(Relaxed),
            lock_waits: base::lock_waits(),
            netpoll_waiters: self.netpoll_waiters(),
            connections: self.connections(),
            netpolls: self.netpolls().0,
            netpoll_readied: self.netpolls().1,
            cpu_user_ns: told(&k.user_told_ns, user_ns),
            cpu_idle_ns: idle_ns,
            cpu_halted_ns: halted_ns,
        }
    }

    /// How many Gs there are in each state.
    pub fn goroutines(&self) -> Goroutines {
        let mut n = Goroutines::default();
        self.for_each_g(|g| match g.status() {
            GStatus::Running => n.running += 1,
            GStatus::Runnable => n.runnable += 1,
            GStatus::Waiting => n.waiting += 1,
            GStatus::Syscall => n.not_in_go += 1,
            GStatus::Dead | GStatus::Idle => {}
        });
        n
    }
}

/// Gs by state (Go: `/sched/goroutines/…`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goroutines {
    /// Run on a CPU.
    pub running: u64,
    /// Wait on a run queue.
    pub runnable: u64,
    /// Wait for somebody or something.
    pub waiting: u64,
    /// Are in a blocking call.
    pub not_in_go: u64,
}

impl Goroutines {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.running + self.runnable + self.waiting + self.not_in_go
    }
}

/// Stops of the world for one reason (Go: `/sched/pauses/{stopping,total}`).
#[derive(Clone, Debug)]
pub struct PauseMetrics {
    /// The reason.
    pub reason: StopReason,
    /// From the wish to stop until everybody stood.
    pub stopping: Counts,
    /// From the wish to stop until everybody ran again.
    pub total: Counts,
}

/// What the scheduler has measured since its start. Times in ns.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Number of Ps (Go: `/sched/gomaxprocs`).
    pub gomaxprocs: u32,
    /// Number of Ms (Go: `/sched/threads/total`).
    pub threads: u32,
    /// Gs by state.
    pub goroutines: Goroutines,
    /// Gs that were ever made (Go: `/sched/goroutines-created`).
    pub created: u64,
    /// From runnable to running, one in [`TRACKING_PERIOD`] (Go: `/sched/latencies`).
    pub latencies: Counts,
    /// Stops of the world, for each reason.
    pub pauses: [PauseMetrics; StopReason::ALL.len()],
    /// For how long Gs have waited for `Mutex` and `RwLock`, in all (Go: `/sync/mutex/wait/total`).
    pub mutex_wait_ns: u64,
    /// How often and for how long CPUs have waited for locks of the kernel, by the locks' rank (Go: the profile of contended
    /// runtime locks). No G waits for one: its CPU does.
    pub lock_waits: [LockWaits; Rank::ALL.len()],
    /// Gs that wait for the network.
    pub netpoll_waiters: u32,
    /// What the network holds.
    pub connections: crate::netpoll::Connections,
    /// How often the network was asked what has come, and how many Gs that made ready.
    pub netpolls: u64,
    /// Gs that the network made ready.
    pub netpoll_readied: u64,
    /// For how long Ps had an M: Gs, and the search for them (Go: `/cpu/classes/user`, what idle leaves over).
    pub cpu_user_ns: u64,
    /// For each P, for how long no M held it (Go: `/cpu/classes/idle`, the sum).
    pub cpu_idle_ns: Vec<u64>,
    /// For each M, for how long its CPU halted; 0 on the host machine.
    pub cpu_halted_ns: Vec<u64>,
}

impl Metrics {
    /// For how long Ps had no M.
    pub fn idle_ns(&self) -> u64 {
        self.cpu_idle_ns.iter().sum()
    }
    /// Time that all Ps together had (Go: `/cpu/classes/total`).
    pub fn cpu_total_ns(&self) -> u64 {
        self.cpu_user_ns + self.idle_ns()
    }
    /// For how long CPUs have waited for locks of the kernel.
    pub fn lock_wait_ns(&self) -> u64 {
        self.lock_waits.iter().map(|waits| waits.ns).sum()
    }
    /// For how long CPUs halted.
    pub fn halted_ns(&self) -> u64 {
        self.cpu_halted_ns.iter().sum()
    }
}

/// Add to what Gs have waited for mutexes. For the layer that has them.
pub fn add_mutex_wait_ns(ns: u64) {
    if cfg!(not(ringo_loom)) {
        crate::this().note_mutex_wait(ns)
    }
}
