//! Packets to ourselves: 127.0.0.0/8 and our own address. They go through a queue, which whoever filled it empties when its own work
//! is done and no lock is held: nothing calls itself, and no connection is entered from another.

use super::{Counter, Net};
use alloc::{collections::VecDeque, vec::Vec};

/// More are dropped, as a wire would.
const MOST: usize = 4096;

/// Packets of IPv4, whole.
pub(crate) struct Queue(VecDeque<Vec<u8>>);

impl Queue {
    pub const fn new() -> Self {
        Self(VecDeque::new())
    }
}

impl<U> Net<'_, U> {
    /// A packet of `bytes` to ourselves, which `fill` writes. False: there are too many.
    pub(super) fn loop_back(&mut self, bytes: usize, fill: &mut dyn FnMut(&mut [u8])) -> bool {
        if self.stack.looped.lock().0.len() >= MOST {
            self.stack.stats.count(Counter::LoopedFull);
            return false;
        }
        let mut packet = alloc::vec![0; bytes];
        fill(&mut packet);
        self.stack.looped.lock().0.push_back(packet);
        true
    }

    /// Takes in what was sent to ourselves.
    pub(super) fn run_looped(&mut self) {
        loop {
            let Some(packet) = self.stack.looped.lock().0.pop_front() else {
                return;
            };
            self.ipv4_came(&packet, true, true)
        }
    }
}
