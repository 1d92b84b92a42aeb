//! Packets to ourselves: 127.0.0.0/8 and our own address. They go through a queue, which whoever filled it empties when its own work
//! is done and no lock is held: nothing calls itself, and no connection is entered from another.
//!
//! **I-BATCH** One call takes in a bounded number of them: two that talk to each other without end would else keep a third in here for
//! ever. What is left is the next caller's, and [`Stack::has_more`](super::Stack::has_more) says that somebody is to call.

use super::{Counter, Net};
use alloc::{collections::VecDeque, vec::Vec};
use base::{Rank, SpinLock};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// More are dropped, as a wire would.
const MOST: usize = 4096;
/// I-BATCH: one call takes so many. A call's own are fewer: a window of 16 KiB has a dozen.
pub(super) const BATCH: usize = 64;

/// Packets of IPv4, whole.
pub(crate) struct Queue {
    packets: SpinLock<VecDeque<Vec<u8>>>,
    /// How many; written under the lock. Relaxed: who has put one in sees that there is one, and nobody else need.
    len: AtomicUsize,
}

impl Queue {
    pub fn new() -> Self {
        Self {
            packets: SpinLock::new(Rank::NetTable, VecDeque::new()),
            len: AtomicUsize::new(0),
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    fn push(&self, packet: Vec<u8>) {
        let mut packets = self.packets.lock();
        packets.push_back(packet);
        self.len.store(packets.len(), Relaxed)
    }

    fn pop(&self) -> Option<Vec<u8>> {
        let mut packets = self.packets.lock();
        let packet = packets.pop_front();
        self.len.store(packets.len(), Relaxed);
        packet
    }
}

impl<U> Net<'_, U> {
    /// A packet of `bytes` to ourselves, which `fill` writes. False: there are too many.
    pub(super) fn loop_back(&mut self, bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> bool {
        if self.stack.looped.len() >= MOST {
            self.stack.stats.count(Counter::LoopedFull);
            return false;
        }
        let mut packet = alloc::vec![0; bytes];
        fill(&mut packet);
        self.stack.looped.push(packet);
        true
    }

    /// Takes in some of what was sent to ourselves (I-BATCH).
    pub(super) fn run_looped(&mut self) {
        for _ in 0..BATCH {
            if self.stack.looped.len() == 0 {
                return;
            }
            let Some(packet) = self.stack.looped.pop() else {
                return;
            };
            self.ipv4_came(&packet, true, true)
        }
    }
}
