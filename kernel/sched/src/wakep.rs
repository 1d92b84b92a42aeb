//! Waking Ms and counting those that spin: the left side of the dance in `idle.rs`, W1 to W4, and what a spinning M owes.

use crate::idle::{NOTIFIED, PARKED};
use crate::m::{M, count, ptr_of};
use crate::p::P;
use crate::pidle::bit;
use crate::sched::{Global, Sched};
use base::mutant::{mutant, planted};
use base::shim::{Ordering::*, fence};

impl Sched {
    // ---- waking ----

    /// Work was made: see to it that somebody runs it. Wakes at most one M, which wakes the next when it has found work
    /// (Go: `wakep`).
    #[inline]
    pub(crate) fn wakep(&self) {
        if planted(10) {
            return;
        }
        // One P of several Ms may be idle while the caller, in a blocking call, has none.
        if self.mcount() > 1 {
            self.wakep_many()
        }
    }

    fn wakep_many(&self) {
        if !mutant("wakep_no_fence") {
            fence(SeqCst); // W2, pairs with I2 in `drop_p_and_look_again` and `stop_spinning`
        }
        if self.nmspinning.load(Relaxed) != 0 {
            return; // W3: that M looks at every queue after it stops spinning
        }
        if self.pidle.load(Relaxed) == 0 {
            if mutant("no_needspinning") {
                return;
            }
            if self.needspinning.load(Relaxed) != 0 {
                return; // whoever swaps it to 0 looks at the queues after that
            }
            self.needspinning.store(1, Relaxed);
            if !mutant("needspinning_no_fence") {
                fence(SeqCst); // pairs with I2 in `drop_p_and_look_again`: `turn_round` sees it, or we see the P
            }
            if self.pidle.load(Relaxed) == 0 {
                return;
            }
        }
        if self
            .nmspinning
            .compare_exchange(0, 1, SeqCst, Relaxed)
            .is_ok()
        {
            self.startm_spinning()
        }
    }

    /// Hand an idle P to an idle M, which then spins. `nmspinning` already counts it (Go: `startm`).
    fn startm_spinning(&self) {
        let mut gl = self.lock.lock();
        let Some(p) = self.pidleget(&mut gl, None) else {
            return self.nobody_to_start(&mut gl, None);
        };
        let Some(m) = self.mget(&mut gl, p) else {
            return self.nobody_to_start(&mut gl, Some(p));
        };
        m.spinning.store(true, Relaxed);
        debug_assert!(m.nextp.load(Relaxed).is_null());
        m.nextp.store(ptr_of(Some(p)), Relaxed);
        drop(gl);
        trace::point!("wake.cpu");
        #[cfg(not(ringo_loom))]
        count(&crate::schedule::m_on_g0().stats.wakes); // preemption is off: the CPU's own M, on a G's stack as well
        self.notewakeup(m);
    }

    /// No P, or a P whose M is in transit.
    fn nobody_to_start(&self, lock: &mut Global, p: Option<&P>) {
        if let Some(p) = p {
            self.list_idle(lock, p)
        }
        if !mutant("no_needspinning") && !mutant("startm_no_needspinning") {
            self.needspinning.store(1, Relaxed); // seen by `stopm` under the lock, or by the next M that drops its P
        }
        self.nmspinning.fetch_sub(1, SeqCst);
    }

    /// Set the wake word of an M that the caller owns; interrupt its CPU if it halts (Go: `notewakeup`).
    pub(crate) fn notewakeup(&self, m: &M) {
        trace::emit(trace::Kind::Wake, 0, m.id() as u32);
        // AcqRel: pairs with the swap in `park`: it sees `nextp`.
        if m.park.swap(NOTIFIED, AcqRel) == PARKED {
            #[cfg(not(ringo_loom))]
            if !trace::lost!("wake.ipi") {
                m.interrupt()
            }
            #[cfg(ringo_loom)]
            m.bell.ring()
        }
    }

    /// sysmon: Ms that were told to wake, and have not since its last look, of those in `before`, are told again: their
    /// CPUs halt, or are kept by the host, and an interrupt that was lost is not sent by anybody else. Those told by now.
    pub(crate) fn tell_again(&self, before: u64) -> u64 {
        let mut told = 0;
        for m in self.allm.iter().take(self.mcount() as usize) {
            if m.park.load(Relaxed) != NOTIFIED {
                continue;
            }
            told |= bit(m.id());
            if before & bit(m.id()) != 0 {
                m.interrupt()
            }
        }
        told
    }

    // ---- spinning ----

    pub(crate) fn become_spinning(&self, m: &M) {
        debug_assert!(!m.spinning.load(Relaxed));
        m.spinning.store(true, Relaxed);
        self.nmspinning.fetch_add(1, SeqCst);
    }

    /// The M found work and is about to run it: if it was the last that spun, another must take its place, since more
    /// may have come while this one was trusted to look (Go: `resetspinning`).
    pub(crate) fn resetspinning(&self, m: &M) {
        m.spinning.store(false, Relaxed);
        self.nmspinning.fetch_sub(1, SeqCst);
        if !mutant("resetspinning_no_wakep") {
            self.wakep();
        }
    }

    /// May one more M spin? At most half of the busy Ps' number do.
    pub(crate) fn may_spin(&self) -> bool {
        let busy = self.procs().saturating_sub(self.npidle());
        2 * self.nmspinning.load(Relaxed) < busy
    }
}
