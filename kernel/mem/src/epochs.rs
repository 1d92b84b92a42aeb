//! Which CPUs may still remember a page that was unmapped.
//!
//! Nobody interrupts a CPU to make it forget: each flushes its TLB at a point of its own choosing, and what was unmapped
//! waits until all have.
//!
//! ```text
//!   unmaps pages     stamp = now += 1            the pages may be used again when every CPU has `seen` >= stamp
//!   flush point      n = now; flush; seen = n    a few microseconds each tick, nothing if `now` did not move
//!   halts            seen = AWAY                 it touches nothing, so nobody waits for it
//!   wakes            seen = what it was; flush point
//! ```
//!
//! A flush point is also a point at which the CPU holds no reference that it found by looking around (it is on g0 between
//! two Gs, or in the idle loop): memory that was taken off every list before a stamp is read by nobody after it (RCU).

use core::sync::atomic::{AtomicU64, Ordering::*, fence};
use crossbeam_utils::CachePadded;

/// A CPU that halts, or never ran.
const AWAY: u64 = u64::MAX;

/// One CPU's part.
struct Cpu {
    seen: AtomicU64,
    /// What `seen` was when it went away.
    left: AtomicU64,
}

/// The clock of unmapping, and what each CPU has seen of it.
pub struct Epochs<const CPUS: usize> {
    now: AtomicU64,
    cpus: [CachePadded<Cpu>; CPUS],
}

impl<const CPUS: usize> Default for Epochs<CPUS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const CPUS: usize> Epochs<CPUS> {
    /// All CPUs are away.
    pub const fn new() -> Self {
        Self {
            now: AtomicU64::new(1),
            cpus: [const {
                CachePadded::new(Cpu {
                    seen: AtomicU64::new(AWAY),
                    left: AtomicU64::new(0),
                })
            }; CPUS],
        }
    }

    /// To be called after entries were cleared: what has to be [`passed`](Epochs::passed) before the pages are used again.
    pub fn stamp(&self) -> u64 {
        // SeqCst: the cleared entries are visible before it. Pairs with the load in `point`: who sees the new time flushes
        // after it; and with the swap in `come`: a CPU that `passed` found away comes back after it, and flushes.
        self.now.fetch_add(1, SeqCst) + 1
    }

    /// The same without a stamp: what the next one that anybody takes will be, at least. For who unmaps often, and can wait.
    pub fn next_stamp(&self) -> u64 {
        // The cleared entries are visible before the time is read, so who sees a later time flushes after them.
        fence(SeqCst);
        self.now.load(SeqCst) + 1
    }

    /// Whether every CPU has flushed since, or is away.
    pub fn passed(&self, stamp: u64) -> bool {
        // SeqCst: pairs with the store in `point`: what the CPU did before its flush is over; and with `come`.
        self.cpus.iter().all(|cpu| cpu.seen.load(SeqCst) >= stamp)
    }

    /// Whether the calling CPU is one that others wait for.
    pub fn is_here(&self, cpu: usize) -> bool {
        self.cpus[cpu].seen.load(Relaxed) != AWAY
    }

    /// Whether the calling CPU has yet to flush what was unmapped before `stamp`.
    #[inline(always)]
    pub fn is_behind(&self, cpu: usize, stamp: u64) -> bool {
        self.cpus[cpu].seen.load(Relaxed) < stamp
    }

    /// The calling CPU is at a flush point. True if it had to flush.
    pub fn point(&self, cpu: usize, flush: impl FnOnce()) -> bool {
        let seen = &self.cpus[cpu].seen;
        let now = self.now.load(SeqCst); // pairs with `stamp`
        if seen.load(Relaxed) == now {
            return false;
        }
        flush();
        seen.store(now, SeqCst); // pairs with the load in `passed`
        true
    }

    /// The calling CPU is about to halt.
    pub fn leave(&self, cpu: usize) {
        let cpu = &self.cpus[cpu];
        cpu.left.store(cpu.seen.load(Relaxed), Relaxed);
        cpu.seen.store(AWAY, SeqCst); // pairs with the load in `passed`
    }

    /// The calling CPU woke up, or runs for the first time.
    pub fn come(&self, cpu: usize, flush: impl FnOnce()) {
        let own = &self.cpus[cpu];
        // SeqCst, and a full fence on the hardware: pairs with `passed`. Whoever found this CPU away had cleared its entries
        // before, so the flush that follows forgets them.
        own.seen.swap(own.left.load(Relaxed), SeqCst);
        self.point(cpu, flush);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32};

    #[test]
    fn waits_for_those_that_run() {
        let e = Epochs::<3>::new();
        assert!(e.passed(e.stamp()), "all are away");
        assert!(!e.is_here(0));
        e.come(0, || {});
        e.come(1, || {});
        assert!(e.is_here(0) && !e.is_here(2));
        let stamp = e.stamp();
        assert!(!e.passed(stamp) && e.is_behind(0, stamp));
        assert!(e.point(0, || {}) && !e.is_behind(0, stamp));
        assert!(!e.point(0, || panic!("nothing was unmapped since")));
        assert!(!e.passed(stamp));
        e.leave(1);
        assert!(e.passed(stamp));
        let flushed = AtomicBool::new(false);
        e.come(1, || flushed.store(true, Relaxed));
        assert!(flushed.load(Relaxed), "it had not seen the stamp");
        assert!(e.passed(stamp) && !e.passed(stamp + 1));
        let next = e.next_stamp();
        assert!(!e.point(0, || panic!("nobody has asked for it")) && !e.passed(next));
        assert_eq!(e.stamp(), next);
        e.point(0, || {});
        e.point(1, || {});
        assert!(e.passed(next));
        e.leave(1);
        e.come(1, || panic!("nothing was unmapped meanwhile"));
    }

    /// Threads as CPUs: each keeps what it read of a table in a "TLB" of its own, and must never use a frame after it was
    /// given to somebody else.
    #[test]
    fn nobody_uses_what_was_given_away() {
        const CPUS: usize = 3;
        let e = Epochs::<{ CPUS + 1 }>::new();
        let entry = AtomicU32::new(1);
        let owner: Vec<AtomicBool> = (0..2000).map(|_| AtomicBool::new(true)).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|s| {
            for cpu in 0..CPUS {
                let (e, entry, owner, done) = (&e, &entry, &owner, &done);
                s.spawn(move || {
                    let mut tlb = None;
                    let mut round = 0u32;
                    e.come(cpu, || {});
                    while !done.load(Relaxed) {
                        let frame = *tlb.get_or_insert_with(|| entry.load(Acquire));
                        assert!(
                            owner[frame as usize].load(Relaxed),
                            "frame {frame} was used late"
                        );
                        round += 1;
                        if round.is_multiple_of(7) {
                            e.point(cpu, || tlb = None);
                        }
                        if round.is_multiple_of(31) {
                            e.leave(cpu);
                            std::thread::yield_now();
                            e.come(cpu, || tlb = None);
                        }
                    }
                    e.leave(cpu);
                });
            }
            for frame in 1..1999 {
                entry.store(frame + 1, Release);
                let stamp = e.stamp();
                while !e.passed(stamp) {
                    std::thread::yield_now();
                }
                owner[frame as usize].store(false, Relaxed);
            }
            done.store(true, Relaxed);
        });
    }
}
