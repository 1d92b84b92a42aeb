//! P and M come together and part, and who of them is idle (Go: proc.go, `acquirep`, `releasep`, `pidleput`, `pidleget`, `mget`).
//!
//! Both idle lists are masks under the scheduler's lock (I-GLOBAL). An M on its list has no P and halts, or is about to; who takes
//! it off owns it until it has told it.

use crate::m::M;
use crate::p::P;
use crate::sched::{Global, Sched};
use crate::timers::NEVER;
use base::mutant::mutant;
use base::shim::Ordering::*;

pub(crate) fn bit(id: usize) -> u64 {
    1 << id
}

impl Sched {
    /// Give `m` the P, which is on no list. Its CPU's timer is armed for the P's timers and the slice check.
    pub(crate) fn acquirep(&self, m: &M, p: &'static P) {
        debug_assert!(m.p().is_none() && !p.is_running());
        p.m.store(m as *const M as *mut M, Relaxed);
        p.last_m.store(m.id() as u32, Relaxed);
        m.set_p(Some(p));
        p.idle_ends();
        self.start_ticking(m, p);
    }

    /// Part the two: the P is on no list then (Go: `releasep`).
    pub(crate) fn releasep(&self, m: &M, p: &P) {
        p.m.store(core::ptr::null_mut(), Relaxed);
        m.set_p(None)
    }

    /// The P, which nobody holds, is idle.
    pub(crate) fn list_idle(&self, _lock: &mut Global, p: &P) {
        self.pidle
            .store(self.pidle.load(Relaxed) | bit(p.id()), Relaxed);
        trace::emit(trace::Kind::ProcIdle, 0, p.id() as u32)
    }

    /// Take its P away from `m` and put it on the idle list.
    pub(crate) fn pidleput(&self, lock: &mut Global, m: &M, p: &'static P) {
        debug_assert!(!p.has_work() || self.stopping.load(Relaxed), "I-IDLE-EMPTY");
        self.releasep(m, p);
        p.idle_begins();
        self.list_idle(lock, p)
    }

    /// An idle P, if there is one; the one that `m` held last is preferred.
    pub(crate) fn pidleget(&self, _lock: &mut Global, m: Option<&M>) -> Option<&'static P> {
        let idle = self.pidle.load(Relaxed);
        if idle == 0 {
            return None;
        }
        let own = m.and_then(|m| {
            self.allp
                .iter()
                .position(|p| idle & bit(p.id()) != 0 && p.last_m.load(Relaxed) == m.id() as u32)
        });
        let i = own.unwrap_or(idle.trailing_zeros() as usize);
        self.pidle.store(idle & !bit(i), Relaxed);
        trace::emit(trace::Kind::ProcTake, 0, i as u32);
        Some(self.p_static(i))
    }

    /// An idle M, if there is one; the one that held `p` last is preferred. It is off the list then, and owned by the caller.
    pub(crate) fn mget(&self, gl: &mut Global, p: &P) -> Option<&M> {
        if gl.midle == 0 {
            return None;
        }
        let last = p.last_m.load(Relaxed) as usize;
        let i = if gl.midle & bit(last) != 0 {
            last
        } else {
            gl.midle.trailing_zeros() as usize
        };
        self.mleave(gl, i);
        Some(&self.allm[i])
    }

    /// Off the idle list; a timekeeper's duty ends (I-TIMEKEEPER: it is awake now, and spins).
    pub(crate) fn mleave(&self, gl: &mut Global, i: usize) {
        gl.midle &= !bit(i);
        self.pace_ends(gl);
        if gl.poll_m == Some(i as u32) {
            gl.poll_m = None;
            if !mutant("keeper_leaves_deadline") {
                self.poll_until_ns.store(NEVER, Relaxed);
            }
        }
    }

    pub(crate) fn p_static(&self, i: usize) -> &'static P {
        // SAFETY: schedulers live for ever (`Sched::new`), and so do their Ps.
        unsafe { &*(&self.allp[i] as *const P) }
    }
}
