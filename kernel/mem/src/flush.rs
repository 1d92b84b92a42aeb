//! Flush points of this machine's CPUs, and the quarantine of what they may still remember.
//!
//! ```text
//!   unmapped ──► open ──── closed, with a stamp ──► waiting ──── all CPUs passed it ──► frames
//! ```
//!
//! Flush points are on g0, with preemption off.

use crate::epochs::Epochs;
use crate::frames::{self, Chain};
use crate::gstack;
use crate::slots;
use arch::bare;
use base::PreemptGuard;
use base::lock::{Rank, SpinLock};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

static EPOCHS: Epochs<{ arch::MAX_CPUS }> = Epochs::new();

/// Longest wait for memory that is on its way back: busy CPUs pass a flush point each 10 ms.
const RECLAIM_NS: u64 = 50_000_000;

struct Quarantine {
    open: Chain,
    waiting: Chain,
    stamp: u64,
}
static QUARANTINE: SpinLock<Quarantine> = SpinLock::new(
    Rank::Heap,
    Quarantine {
        open: Chain::new(),
        waiting: Chain::new(),
        stamp: 0,
    },
);
/// Frames in quarantine, for readers without its lock.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Takes frames that were just unmapped. They are free when no TLB remembers them.
pub(crate) fn hold(chain: Chain) {
    if chain.count() == 0 {
        return;
    }
    let mut quarantine = QUARANTINE.lock();
    quarantine.open.append(chain);
    HELD.store(
        quarantine.open.count() + quarantine.waiting.count(),
        Relaxed,
    );
}

/// See [`Epochs::stamp`].
pub(crate) fn stamp() -> u64 {
    EPOCHS.stamp()
}

/// See [`Epochs::next_stamp`]. What was unmapped is handed to [`hold`] afterwards, whose quarantine takes that stamp.
pub(crate) fn next_stamp() -> u64 {
    EPOCHS.next_stamp()
}

/// Whether every CPU has flushed since that stamp: see [`Epochs::passed`]. Before this CPU has come online it may remember anything,
/// though nobody waits for it.
pub(crate) fn passed(stamp: u64) -> bool {
    EPOCHS.is_here(arch::cpu_id()) && EPOCHS.passed(stamp)
}

/// The same clock, for slots of stacks.
pub(crate) struct Clock;
impl slots::Clock for Clock {
    fn stamp(&self) -> u64 {
        EPOCHS.stamp()
    }
    fn passed(&self, stamp: u64) -> bool {
        EPOCHS.passed(stamp)
    }
}

/// Frames in quarantine: neither free nor in use.
pub fn held_frames() -> u64 {
    HELD.load(Relaxed)
}

/// This CPU runs from now on. To be called once on each, before it runs a G.
pub fn cpu_online() {
    EPOCHS.come(arch::cpu_id(), bare::flush_tlb);
}

/// Slots of stacks that one flush point unmaps at most: some 20 microseconds.
const SWEEP: u32 = 64;

/// A point at which this CPU can forget what it remembers of page tables, and holds no reference to a G that it found by
/// looking around. To be called at each tick, and before a halt until it returns false: true says that there is more to do at
/// once. Costs a look at three words while nothing is unmapped.
#[inline]
pub fn flush_point() -> bool {
    EPOCHS.point(arch::cpu_id(), bare::flush_tlb);
    if HELD.load(Relaxed) == 0 && !gstack::has_released() {
        return false;
    }
    move_on(SWEEP)
}

/// Unmaps, frees what every CPU has forgotten, and forgets.
#[cold]
#[inline(never)]
fn move_on(budget: u32) -> bool {
    let more = gstack::sweep(budget);
    collect();
    if EPOCHS.point(arch::cpu_id(), bare::flush_tlb) {
        collect();
    }
    more
}

/// Memory ran out: waits a few ticks for what is on its way back. Where the CPU holds no lock of this crate,
/// and no reference to a G that it found by looking around.
pub(crate) fn reclaim() {
    let _guard = PreemptGuard::new();
    let end = arch::now_ns() + RECLAIM_NS;
    while (HELD.load(Relaxed) != 0 || gstack::has_released()) && arch::now_ns() < end {
        move_on(4 * SWEEP);
        arch::spin_wait_ns(10_000);
    }
}

/// This CPU halts next: nobody waits for it.
#[inline]
pub fn before_halt() {
    EPOCHS.leave(arch::cpu_id());
    if HELD.load(Relaxed) != 0 {
        // The last one to halt frees everything; the second time what the first time closed.
        collect();
        collect();
    }
}

/// This CPU woke from a halt. To be called before it touches a stack of a G, or the heap.
#[inline]
pub fn after_halt() {
    EPOCHS.come(arch::cpu_id(), bare::flush_tlb);
}

/// Makes sure that this CPU has forgotten what was unmapped before `stamp`.
#[inline(always)]
pub(crate) fn not_behind(stamp: u64) {
    if EPOCHS.is_behind(arch::cpu_id(), stamp) {
        catch_up();
    }
}

#[cold]
#[inline(never)]
fn catch_up() {
    EPOCHS.point(arch::cpu_id(), bare::flush_tlb);
}

/// Frees what every CPU has forgotten; closes the next lot.
#[cold]
#[inline(never)]
fn collect() {
    let Some(mut guard) = QUARANTINE.try_lock() else {
        return; // somebody else does it
    };
    let quarantine = &mut *guard;
    if quarantine.waiting.count() != 0 && EPOCHS.passed(quarantine.stamp) {
        let free = core::mem::replace(&mut quarantine.waiting, Chain::new());
        // SAFETY: no table names these frames and no TLB remembers them.
        unsafe { frames::free_chain(free) };
    }
    if quarantine.waiting.count() == 0 && quarantine.open.count() != 0 {
        quarantine.waiting = core::mem::replace(&mut quarantine.open, Chain::new());
        quarantine.stamp = EPOCHS.stamp();
    }
    HELD.store(
        quarantine.open.count() + quarantine.waiting.count(),
        Relaxed,
    );
}
