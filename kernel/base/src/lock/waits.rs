//! How long CPUs have waited for locks, by rank (Go: mprof.go, `lockTimer`, the profile of contended runtime locks). Who finds
//! its lock free counts nothing and reads no clock.

use super::Rank;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What was waited for locks of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaits {
    /// The rank.
    pub rank: Rank,
    /// How often somebody had to wait.
    pub count: u64,
    /// For how long, in all.
    pub ns: u64,
}

/// Of one rank.
struct Cell {
    count: AtomicU64,
    ns: AtomicU64,
}

/// Those of one CPU, on cache lines of its own: a wait is noted with the lock held.
#[repr(align(128))]
struct OfCpu([Cell; Rank::ALL.len()]);

static WAITS: [OfCpu; arch::MAX_CPUS] = [const {
    OfCpu(
        [const {
            Cell {
                count: AtomicU64::new(0),
                ns: AtomicU64::new(0),
            }
        }; Rank::ALL.len()],
    )
}; arch::MAX_CPUS];

/// This CPU has waited for so long. Preemption is off, and no interrupt takes a lock. (On the host machine threads may pass for
/// one CPU, those of several schedulers or of none, and a wait may be lost.)
#[cfg_attr(any(ringo_loom, ringo_shuttle), allow(dead_code))]
pub(super) fn note(rank: Rank, ns: u64) {
    let cell = &WAITS[arch::cpu_id() % arch::MAX_CPUS].0[rank as usize];
    cell.ns.store(cell.ns.load(Relaxed) + ns, Relaxed);
    cell.count.store(cell.count.load(Relaxed) + 1, Relaxed);
}

/// The waits so far, for each rank, of all schedulers of this process or machine.
pub fn lock_waits() -> [LockWaits; Rank::ALL.len()] {
    Rank::ALL.map(|rank| {
        let cells = WAITS.iter().map(|cpu| &cpu.0[rank as usize]);
        let (mut count, mut ns) = (0, 0);
        for cell in cells {
            count += cell.count.load(Relaxed);
            ns += cell.ns.load(Relaxed)
        }
        LockWaits { rank, count, ns }
    })
}
