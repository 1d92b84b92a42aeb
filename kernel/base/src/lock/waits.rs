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

struct Cell {
    count: AtomicU64,
    ns: AtomicU64,
}

static WAITS: [Cell; Rank::ALL.len()] = [const {
    Cell {
        count: AtomicU64::new(0),
        ns: AtomicU64::new(0),
    }
}; Rank::ALL.len()];

/// Somebody has waited since `since_ns`.
#[cfg_attr(any(ringo_loom, ringo_shuttle), allow(dead_code))]
pub(super) fn note(rank: Rank, since_ns: u64) {
    let cell = &WAITS[rank as usize];
    cell.ns
        .fetch_add(arch::now_ns().saturating_sub(since_ns), Relaxed);
    cell.count.fetch_add(1, Relaxed);
}

/// The waits so far, for each rank, of all schedulers of this process or machine.
pub fn lock_waits() -> [LockWaits; Rank::ALL.len()] {
    Rank::ALL.map(|rank| {
        let cell = &WAITS[rank as usize];
        LockWaits {
            rank,
            count: cell.count.load(Relaxed),
            ns: cell.ns.load(Relaxed),
        }
    })
}
