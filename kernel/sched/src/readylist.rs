//! Who can go on since the network was looked at: from the poller, which holds its own locks, to the queues (Go: proc.go, `gList`,
//! `injectglist`).

use crate::g::GRef;
use crate::gqueue::GQueue;
use crate::m::M;
use base::PreemptGuard;

/// Who can go on: Gs whose descriptors became ready, and CPUs that wait on theirs (`netpoll=block`). Filled by
/// [`PollDesc::ready`](crate::netpoll::PollDesc::ready) with whatever locks are held; emptied without, or by its drop.
pub struct ReadyList {
    gs: GQueue,
    /// Ms that wait with their CPU, a bit each.
    ms: u64,
    /// How many wait no longer.
    n: u32,
}

impl ReadyList {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            gs: GQueue::new(),
            ms: 0,
            n: 0,
        }
    }

    /// How many can go on.
    pub fn len(&self) -> u32 {
        self.n
    }
    /// Nobody?
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// A G that waits, and whose only waker the caller is.
    pub(crate) fn push_g(&mut self, g: GRef) {
        self.gs.push_back(g);
        self.n += 1
    }

    /// An M that waits in a blocking call.
    pub(crate) fn push_m(&mut self, id: usize) {
        self.ms |= 1 << id;
        self.n += 1
    }

    /// Make them runnable: on this CPU's P, from where others steal what is too much, or in the global queue in a blocking
    /// call; and somebody is woken for them (Go: `injectglist`). One is woken at a time, who wakes the next, so an idle P counted
    /// too early does no harm (Go #63555).
    pub fn inject(&mut self) {
        if self.n == 0 {
            return;
        }
        let guard = PreemptGuard::new();
        let m = M::current(&guard);
        let s = m.sched();
        s.netpoll.wait_no_longer(core::mem::take(&mut self.n));
        while let Some(g) = self.gs.pop() {
            #[cfg(not(ringo_loom))]
            s.ready(m, g);
            #[cfg(ringo_loom)]
            crate::models::ready(s, m, g)
        }
        let ms = core::mem::take(&mut self.ms);
        for m in s.allm.iter().filter(|m| ms & 1 << m.id() != 0) {
            m.interrupt()
        }
    }
}

impl Default for ReadyList {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ReadyList {
    fn drop(&mut self) {
        self.inject()
    }
}
