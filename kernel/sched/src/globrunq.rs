//! The global run queue: what no P holds. Whoever overflows, yields or is preempted goes here; whoever runs dry takes a
//! share (Go: proc.go, `globrunqput`, `globrunqgetbatch`, `runqputslow`).

use crate::g::GRef;
use crate::gqueue::GQueue;
use crate::m::M;
use crate::p::P;
use crate::policy::{self, Event, Place};
use crate::sched::{Global, Sched};
use base::config::Queue;
use base::mutant::mutant;
use base::shim::Ordering::*;

/// Most Gs that one refill takes: half a ring.
const REFILL: u32 = crate::runq::RING as u32 / 2;

impl Sched {
    /// Put a runnable G where the policy says.
    #[inline]
    pub(crate) fn runqput(&self, m: &M, g: GRef, event: Event) {
        match (policy::place(&self.cfg, event), m.p()) {
            (Place::RunNext, Some(p)) => {
                if let Some(old) = p.runq.put_next(g) {
                    self.runqput_tail(p, old)
                }
            }
            (Place::LocalTail, Some(p)) => self.runqput_tail(p, g),
            (Place::Woken, Some(p)) => {
                if let Err(g) = p.wakeup.put_woken(g) {
                    self.runqput_tail(p, g)
                }
            }
            (Place::BehindWoken, Some(p)) => {
                if let Some(old) = p.wakeup.put_preempted(g) {
                    self.runqput_tail(p, old)
                }
            }
            (Place::GlobalHead, _) => self.globrunqput_head(g),
            (Place::GlobalTail, _) | (_, None) => self.globrunqput(g),
        }
    }

    /// Put at the tail of the P's ring; a full ring sends half of itself and `g` to the global queue.
    pub(crate) fn runqput_tail(&self, p: &P, g: GRef) {
        while p.runq.put(g).is_err() {
            if let Some(mut batch) = p.runq.take_half() {
                batch.push_back(g);
                return self.globrunqput_batch(&mut batch);
            }
        }
    }

    /// One G to the end of the global queue.
    pub(crate) fn globrunqput(&self, g: GRef) {
        let mut gl = self.lock.lock();
        gl.runq.push_back(g);
        self.runqsize.store(gl.runq.len(), Relaxed);
    }

    /// One G to the front of the global queue.
    fn globrunqput_head(&self, g: GRef) {
        let mut gl = self.lock.lock();
        gl.runq.push_front(g);
        self.runqsize.store(gl.runq.len(), Relaxed);
    }

    /// Many at once.
    pub(crate) fn globrunqput_batch(&self, batch: &mut GQueue) {
        let mut gl = self.lock.lock();
        gl.runq.append(batch);
        self.runqsize.store(gl.runq.len(), Relaxed);
    }

    /// The first G of the global queue, alone: the fairness check.
    pub(crate) fn globrunqget(&self) -> Option<GRef> {
        let mut gl = self.lock.lock();
        let g = gl.runq.pop();
        self.runqsize.store(gl.runq.len(), Relaxed);
        g
    }

    /// A fair share of the global queue: the first one is returned, the others go to `p`'s ring, which is empty. With
    /// `queue=global` the share is one G: there is one queue under one lock then, and no other (Go 1.0: `matchmg`).
    pub(crate) fn globrunqget_batch(&self, gl: &mut Global, p: &P) -> Option<GRef> {
        let size = gl.runq.len();
        let n = match self.cfg.queue {
            Queue::Global => 1,
            Queue::Local => REFILL.min(size).min(size / self.procs() + 1),
        };
        let first = gl.runq.pop()?;
        for _ in 1..n {
            let Some(g) = gl.runq.pop() else { break };
            if let Err(g) = p.runq.put(g) {
                gl.runq.push_front(g);
                break;
            }
        }
        let order = if mutant("runqsize_relaxed") {
            Relaxed
        } else {
            Release
        };
        // Release: pairs with the load (acquire) in `stop_spinning`: who finds the queue empty sees what is in the ring.
        self.runqsize.store(gl.runq.len(), order);
        Some(first)
    }
}
