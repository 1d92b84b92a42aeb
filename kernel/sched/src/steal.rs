//! Stealing: an M without work takes half of somebody else's (Go: proc.go, `stealWork`, `randomOrder`, `runqgrab`).

use crate::g::GRef;
use crate::m::{M, count};
use crate::p::P;
use crate::policy::{self, Victims};
use crate::sched::Sched;
use base::config::{Policy, Steal};
use base::shim::Ordering::*;

/// Passes over all Ps; timers and `runnext` are looked at in the last one only.
const PASSES: u32 = 4;
/// Before `runnext` of a running P is taken: its owner is about to run it, and taking it at once would thrash.
#[cfg(not(ringo_loom))]
const RUNNEXT_BACKOFF_NS: u64 = 3_000;

/// Visits all Ps in an order that differs from call to call, without repeats: a random start, and a random step that has
/// no common divisor with their number.
pub struct StealOrder {
    n: u32,
    coprimes: [u32; arch::MAX_CPUS],
    len: u32,
}

impl StealOrder {
    /// For `n` Ps, 1 to 64.
    pub fn new(n: u32) -> Self {
        let mut coprimes = [1; arch::MAX_CPUS];
        let mut len = 0;
        for i in 1..=n {
            if gcd(i, n) == 1 {
                coprimes[len as usize] = i;
                len += 1;
            }
        }
        Self { n, coprimes, len }
    }

    /// The order that `policy` wants for the thief that holds P `own`, with the random number `seed`.
    pub fn walk(&self, policy: Policy, own: u32, seed: u32) -> impl Iterator<Item = usize> + use<> {
        let n = self.n;
        let coprimes = &self.coprimes[..self.len as usize];
        let Victims { first, step } = policy::victims(policy, coprimes, n, own, seed);
        debug_assert!(first < n && gcd(step, n) == 1);
        let mut at = first;
        (0..n).map(move |_| {
            let here = at;
            at = (at + step) % n;
            here as usize
        })
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What a round of stealing came to.
pub(crate) enum Stolen {
    /// A G to run.
    G(GRef),
    /// Timers of another P ran: look at the own queue first, then again.
    RanTimers,
    /// There was nothing.
    Nothing,
}

impl Sched {
    /// Look at every other P, `PASSES` times. The M spins and holds `p`, whose ring is empty.
    pub(crate) fn steal_work(&self, m: &M, p: &P) -> Stolen {
        if self.cfg.steal == Steal::Off {
            return self.run_timers_of_others(m, p);
        }
        let half = self.cfg.steal == Steal::Half;
        let passes = if cfg!(ringo_loom) { 1 } else { PASSES };
        for pass in 1..=passes {
            let last = pass == passes;
            // SAFETY: I-OWNER: `m` holds `p`, and this runs on g0.
            let seed = unsafe { p.owned() }.rng.next_u64() as u32;
            let order = &self.orders[self.procs() as usize - 1];
            for i in order.walk(self.cfg.policy, p.id() as u32, seed) {
                let victim = &self.allp[i];
                if core::ptr::eq(victim, p) {
                    continue;
                }
                if last && self.run_timers_of(m, victim) {
                    return Stolen::RanTimers;
                }
                if self.pidle.load(Relaxed) & (1 << i) != 0 {
                    continue; // an idle P's queue is empty (I-IDLE-EMPTY)
                }
                if last
                    && victim.runq.ring_is_empty()
                    && victim.runq.has_runnext()
                    && victim.is_running()
                {
                    #[cfg(not(ringo_loom))]
                    arch::spin_wait_ns(RUNNEXT_BACKOFF_NS);
                }
                // Those that were woken, and the one that gave way to them, would be the next to run there.
                let stolen = p
                    .runq
                    .steal_from(&victim.wakeup.queue, half, true)
                    .or_else(|| p.runq.steal_from(&victim.runq, half, last));
                if let Some((g, n)) = stolen {
                    count(&m.stats.steals);
                    m.stats
                        .stolen
                        .store(m.stats.stolen.load(Relaxed) + n as u64, Relaxed);
                    trace::emit(trace::Kind::Steal, g.id(), victim.id() as u32);
                    return Stolen::G(g);
                }
            }
        }
        Stolen::Nothing
    }

    /// `steal=off` switches the taking of Gs off; timers of a P that nobody holds must still fire.
    fn run_timers_of_others(&self, m: &M, p: &P) -> Stolen {
        let ran = self
            .allp
            .iter()
            .filter(|v| !core::ptr::eq(*v, p))
            .any(|v| self.run_timers_of(m, v));
        if ran {
            Stolen::RanTimers
        } else {
            Stolen::Nothing
        }
    }

    /// Run what is due on `victim`, unless it looks after itself.
    pub(crate) fn run_timers_of(&self, m: &M, victim: &P) -> bool {
        if victim.timers.is_empty() || !self.watched_by_idle(victim) {
            return false;
        }
        let now_ns = self.timers_now_ns(arch::now_ns());
        victim.timers.min_when_ns() <= now_ns && self.run_timers(m, victim, now_ns)
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::{Policy, StealOrder};
    use std::collections::HashSet;

    /// Go: proc_test.go, StealOrder (proc_runtime_test.go, RunStealOrderTest).
    #[test]
    fn every_order_is_a_permutation() {
        for n in 1..=64u32 {
            let o = StealOrder::new(n);
            let mut seen = HashSet::new();
            for seed in 0..n * o.len {
                let v: Vec<usize> = o.walk(Policy::Go, 0, seed).collect();
                assert_eq!(
                    v.iter().copied().collect::<HashSet<_>>().len(),
                    n as usize,
                    "{n} Ps, seed {seed}"
                );
                seen.insert((v[0], v.get(1).copied()));
            }
            assert!(n < 3 || o.len >= 2, "{n} Ps: at least two steps");
            assert_eq!(
                seen.len() as u32,
                if n == 1 { 1 } else { n * o.len },
                "{n} Ps: each seed its own order"
            );
        }
    }
}
