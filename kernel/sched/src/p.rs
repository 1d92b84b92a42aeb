//! P: the right to run Gs, and what a CPU needs at hand to do so without locks: a run queue, timers, dead Gs to reuse.
//!
//! ```text
//!            acquirep                   idle: on the idle list, no M
//!   idle ────────────────► running      running: an M holds it
//!     ▲                       │
//!     └───────────────────────┘
//!            releasep
//! ```
//!
//! **I-OWNER** What is marked "owner" below is touched only by the M that holds the P, with preemption off (I-COUNT).

use crate::gqueue::GQueue;
use crate::m::M;
use crate::runq::RunQueue;
use crate::timers::Timers;
use crate::wakeup::Wakeup;
use base::mutant::mutant;
use base::rng::Rng;
use base::shim::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use core::cell::UnsafeCell;
use core::sync::atomic as plain;

/// Goroutine numbers that a P takes from the scheduler at a time (Go: `_GoidCacheBatch`).
pub(crate) const GOID_BATCH: u64 = 16;

/// What the owner alone touches.
pub(crate) struct Owned {
    /// Dead Gs with their stacks, to be used again (Go: `p.gFree`).
    pub gfree: GQueue,
    /// Next goroutine number and the end of the batch.
    pub goid: (u64, u64),
    /// Victim order, and whatever else wants chance.
    pub rng: Rng,
}

/// A processor: one of at most `GOMAXPROCS`.
#[repr(align(128))]
pub struct P {
    id: u32,
    /// Ready Gs.
    pub runq: RunQueue,
    /// Counts slices: raised by `execute` unless the slice is inherited. Identity of the slice for the tick.
    pub(crate) schedtick: AtomicU32,
    /// Sleepers and the like.
    pub timers: Timers,
    /// Gs that the clock or a device woke, and the one that gave way to them.
    pub(crate) wakeup: Wakeup,
    /// M that holds it; null when idle.
    pub(crate) m: AtomicPtr<M>,
    /// Whether its M runs a G in a blocking call: `handoff.rs`.
    pub(crate) call: AtomicU32,
    /// Counts blocking calls, so that sysmon knows a call again.
    pub(crate) syscalltick: AtomicU32,
    /// `syscalltick` at sysmon's last look; the call that it saw last on this P, and when it first did.
    pub(crate) sysmon_saw_tick: AtomicU32,
    pub(crate) sysmon_saw_call: AtomicU32,
    pub(crate) sysmon_call_when_ns: AtomicU64,
    /// Since when it is idle, 0 if it is not, and for how long it was: `metrics.rs`.
    pub(crate) idle_since_ns: plain::AtomicU64,
    pub(crate) idle_ns: plain::AtomicU64,
    pub(crate) idle_told_ns: plain::AtomicU64,
    /// Dead Gs that it keeps: a copy for readers.
    pub(crate) gfreecnt: plain::AtomicU32,
    /// M that held it last: who gets it back if idle (affinity).
    pub(crate) last_m: AtomicU32,
    owned: UnsafeCell<Owned>,
    /// In models: loom sees by it that one owner's accesses happen before the next one's.
    #[cfg(ringo_loom)]
    touched: loom::cell::UnsafeCell<()>,
}

// SAFETY: all but `owned` is made of atomics and locks; `owned` is I-OWNER.
unsafe impl Sync for P {}
// SAFETY: as above.
unsafe impl Send for P {}

impl P {
    pub(crate) fn new(id: u32, seed: u64) -> Self {
        Self {
            id,
            runq: RunQueue::new(),
            schedtick: AtomicU32::new(0),
            timers: Timers::new(),
            wakeup: Wakeup::new(),
            m: AtomicPtr::new(core::ptr::null_mut()),
            call: AtomicU32::new(crate::handoff::NONE),
            syscalltick: AtomicU32::new(0),
            sysmon_saw_tick: AtomicU32::new(0),
            sysmon_saw_call: AtomicU32::new(0),
            sysmon_call_when_ns: AtomicU64::new(0),
            idle_since_ns: plain::AtomicU64::new(0),
            idle_ns: plain::AtomicU64::new(0),
            idle_told_ns: plain::AtomicU64::new(0),
            gfreecnt: plain::AtomicU32::new(0),
            last_m: AtomicU32::new(id),
            owned: UnsafeCell::new(Owned {
                gfree: GQueue::new(),
                goid: (0, 0),
                rng: Rng::new(seed),
            }),
            #[cfg(ringo_loom)]
            touched: loom::cell::UnsafeCell::new(()),
        }
    }

    /// Its number, from 0.
    pub fn id(&self) -> usize {
        self.id as usize
    }

    /// Does an M hold it?
    pub fn is_running(&self) -> bool {
        !self.m.load(Relaxed).is_null()
    }

    /// Does any G wait here? Right at some instant during the call: nothing moves between the two queues, except that
    /// its owner wakes somebody afterwards.
    pub fn has_work(&self) -> bool {
        !self.runq.is_empty() || !self.wakeup.queue.is_empty() && !mutant("recheck_no_woken")
    }

    /// Take all Gs out, in the order in which they would have run.
    pub(crate) fn drain(&self) -> GQueue {
        let mut q = GQueue::new();
        while let Some(g) = self.wakeup.take_any()
            && !mutant("drain_no_woken")
        {
            q.push_back(g)
        }
        while let Some((g, _)) = self.runq.get() {
            q.push_back(g)
        }
        q
    }

    /// The M that holds it.
    pub(crate) fn holder(&self) -> Option<&'static M> {
        // SAFETY: null or an M, which lives for ever.
        unsafe { self.m.load(Relaxed).as_ref() }
    }

    /// How many slices were begun on it.
    pub fn schedtick(&self) -> u32 {
        self.schedtick.load(Relaxed)
    }

    /// What the owner alone touches.
    ///
    /// # Safety
    /// I-OWNER: the caller is the M that holds this P, preemption is off, and no other such reference is alive.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn owned(&self) -> &mut Owned {
        #[cfg(ringo_loom)]
        self.touched.with_mut(|_| ());
        // SAFETY: the caller's promise.
        unsafe { &mut *self.owned.get() }
    }
}
