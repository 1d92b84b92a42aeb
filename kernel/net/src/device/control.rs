//! Orders to a device with several queue pairs (virtio 1.2, 5.1.6.5): by a queue of its own, one at a time, before anything else runs.

use super::{Bell, Error, Memory, QueueSetup, Transport, dma};
use crate::ring::{Buffer, Queue};
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// No interrupt: its answers are waited for (4.1.5.1.2).
const NO_INTERRUPT: u16 = 0xffff;
/// Class and command: so many pairs are used (5.1.6.5.5).
const PAIRS_SET: [u8; 2] = [4, 0];
/// The device has done it.
const OK: u8 = 0;
/// Where the answer lies, behind the order.
const ANSWER_AT: usize = 64;
/// An order takes two descriptors.
const DESCRIPTORS: u16 = 2;
/// An answer takes microseconds, or as long as the host lets the device stand.
const PATIENCE_NS: u64 = 5_000_000_000;

/// The queue for orders, and room for one.
pub(super) struct Control<B: Bell> {
    queue: Queue,
    bell: B,
    room: super::Row,
}

impl<B: Bell> Control<B> {
    /// Starts queue `index`. The device must not run yet.
    pub fn new<T: Transport<Bell = B>, M: Memory>(
        t: &mut T,
        index: u16,
        event_idx: bool,
    ) -> Result<Self, Error> {
        if t.queue_most(index) < DESCRIPTORS {
            return Err(Error::Unusable("it lacks the queue for orders"));
        }
        let (area, parts) = dma::ring::<M>(DESCRIPTORS)?;
        let setup = QueueSetup {
            size: DESCRIPTORS,
            parts,
            entry: NO_INTERRUPT,
        };
        let room = M::row(1).ok_or(Error::NoMemory)?;
        let mut queue = Queue::new(area, event_idx);
        queue.interrupts_off();
        // SAFETY: a ring of its own, in memory that is never freed (`Memory`).
        if !unsafe { t.start_queue(index, &setup) } {
            return Err(Error::Unusable("its queue for orders does not start"));
        }
        let bell = t.bell(index).ok_or(Error::Unusable("it takes no orders"))?;
        Ok(Control { queue, bell, room })
    }

    /// The device is to use so many pairs. False: it does not.
    pub fn use_pairs(&mut self, pairs: u16) -> bool {
        let [low, high] = pairs.to_le_bytes();
        let order = [PAIRS_SET[0], PAIRS_SET[1], low, high];
        // SAFETY: `room` is a page of our own (`Memory`), which the device does not have before `add`.
        unsafe { self.room.at.cast().write(order) };
        let answer = self.answer();
        answer.store(!OK, Relaxed);
        let part = |at: usize, len: u32, device_writes| Buffer {
            phys: self.room.phys + at as u64,
            len,
            device_writes,
        };
        let chain = [part(0, order.len() as u32, false), part(ANSWER_AT, 1, true)];
        if self.queue.add(&chain).is_err() {
            return false;
        }
        if self.queue.publish() | self.queue.wants_late_kick() {
            self.bell.ring()
        }
        let begin_ns = arch::now_ns();
        loop {
            match self.queue.pop() {
                Ok(None) if arch::now_ns() - begin_ns < PATIENCE_NS => spin_loop(),
                Ok(Some(_)) => return self.answer().load(Relaxed) == OK,
                Ok(None) | Err(_) => return false,
            }
        }
    }

    fn answer(&self) -> &AtomicU8 {
        // SAFETY: inside of the page that is ours for ever; both sides reach it as an atomic.
        unsafe { self.room.at.add(ANSWER_AT).cast::<AtomicU8>().as_ref() }
    }
}
