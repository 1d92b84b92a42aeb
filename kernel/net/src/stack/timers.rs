//! What falls due when: a heap of deadlines, and the earliest beside it, to be read without the lock.
//!
//! An entry is a reminder, not a promise: who is reminded looks by itself whether it is time, so nothing is ever taken out of the heap
//! but from its head. Whoever's deadline moves back lets the old entry come and asks for the later one then. An entry names who is
//! reminded and does not hold it: what has ended takes no memory here but the entry's.

use super::common::shrink_to;
use super::tcp::Tuple;
use alloc::collections::BinaryHeap;
use base::{Rank, SpinLock};
use core::cmp::Ordering as Order;
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A deadline that there is not.
pub const NEVER: u64 = u64::MAX;

/// Who is reminded.
pub(crate) enum Target {
    /// A connection, or the next one of that name, which looks in vain.
    Conn(Tuple),
    /// A half-open connection.
    Half(Tuple),
    /// An ended one.
    TimeWait(Tuple),
    /// Those whose name is nobody's any more.
    Stranded,
    /// A neighbour has not answered.
    Neighbour(Ipv4Addr),
    /// DHCP's client.
    Dhcp,
}

struct Entry {
    at_ns: u64,
    target: Target,
}

/// Deadlines of a stack.
pub(crate) struct Timers {
    heap: SpinLock<BinaryHeap<Entry>>,
    /// Deadline of the heap's head, [`NEVER`]: it is empty. Written under the lock. Relaxed: who reads it too early is told anew by
    /// whoever moved it, who looks at it afterwards itself before it halts.
    next_ns: AtomicU64,
}

impl Timers {
    pub fn new() -> Self {
        Self {
            heap: SpinLock::new(Rank::NetTable, BinaryHeap::new()),
            next_ns: AtomicU64::new(NEVER),
        }
    }

    /// Reminds `target` at `at_ns` or soon after.
    pub fn remind(&self, at_ns: u64, target: Target) {
        let mut heap = self.heap.lock();
        heap.push(Entry { at_ns, target });
        self.note(&heap)
    }

    /// Somebody whose time has come.
    pub fn due(&self, now_ns: u64) -> Option<Target> {
        if self.next_ns() > now_ns {
            return None;
        }
        let mut heap = self.heap.lock();
        if heap.peek()?.at_ns > now_ns {
            return None;
        }
        let target = heap.pop().map(|e| e.target);
        if let Some(less) = shrink_to(heap.len(), heap.capacity()) {
            heap.shrink_to(less)
        }
        self.note(&heap);
        target
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.heap.lock().len()
    }

    pub fn next_ns(&self) -> u64 {
        self.next_ns.load(Relaxed)
    }

    fn note(&self, heap: &BinaryHeap<Entry>) {
        let ns = heap.peek().map_or(NEVER, |e| e.at_ns);
        self.next_ns.store(ns, Relaxed)
    }
}

/// The heap's head is its greatest: the earliest.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Order {
        other.at_ns.cmp(&self.at_ns)
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.at_ns == other.at_ns
    }
}
impl Eq for Entry {}
