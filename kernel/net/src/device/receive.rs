//! Frames that come.

use super::dma::{BUFFER_BYTES, Buffers};
use super::header::{self, HEADER_BYTES};
use super::{Bell, Error, Memory};
use crate::ring::Queue;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Ethernet's header: nothing shorter is a frame.
const FRAME_LEAST: usize = 14;

/// A frame, where the device has put it.
pub struct Frame<'a> {
    /// From Ethernet's header on, without the check sequence at its end.
    pub bytes: &'a mut [u8],
    /// Nobody need look at TCP's or UDP's checksum.
    pub checked: bool,
}

/// The receiving half.
pub struct Receiver<B: Bell> {
    queue: Queue,
    bell: B,
    buffers: Buffers,
    /// Which buffer a descriptor holds.
    held: Box<[u16]>,
    /// Buffers that the device does not have.
    spare: Vec<u16>,
    /// What came that is no frame.
    runts: u64,
}

impl<B: Bell> Receiver<B> {
    pub(super) fn new<M: Memory>(queue: Queue, bell: B) -> Result<Receiver<B>, Error> {
        let n = queue.left();
        Ok(Receiver {
            buffers: Buffers::new::<M>(n)?,
            held: vec![0; n.into()].into(),
            spare: (0..n).collect(),
            runts: 0,
            queue,
            bell,
        })
    }

    /// Gives the device every buffer that it does not have.
    pub(super) fn refill(&mut self) {
        while let Some(i) = self.spare.pop() {
            let buffer = self.buffers.give(i, BUFFER_BYTES, true);
            match self.queue.add(&[buffer]) {
                Ok(head) => self.held[usize::from(head)] = i,
                Err(_) => return self.spare.push(i), // the ring is broken: there is a descriptor for each buffer
            }
        }
        if self.queue.publish() {
            self.bell.ring()
        }
    }

    /// Calls `f` for each frame that has come, `budget` of them at most. How many there were.
    ///
    /// # Errors
    /// The device broke the rules: nothing comes any more.
    pub fn receive(&mut self, budget: usize, mut f: impl FnMut(Frame<'_>)) -> Result<usize, Error> {
        let mut n = 0;
        while n < budget {
            let Some(used) = self.queue.pop()? else { break };
            let i = self.held[usize::from(used.head)];
            let bytes = self.buffers.bytes(i, used.len as usize);
            if bytes.len() < HEADER_BYTES + FRAME_LEAST {
                self.runts += 1
            } else {
                let (head, bytes) = bytes.split_at_mut(HEADER_BYTES);
                let checked = header::is_checked(head);
                f(Frame { bytes, checked })
            }
            self.spare.push(i);
            n += 1;
            // A device that runs dry drops frames.
            if self.spare.len() * 4 >= self.held.len() {
                self.refill()
            }
        }
        if n != 0 {
            self.refill()
        }
        Ok(n)
    }

    /// Asks for an interrupt at the next frame. True: one is there already.
    #[must_use = "for a frame that has come there may be no interrupt"]
    pub fn listen(&mut self) -> bool {
        self.queue.interrupts_on()
    }

    /// No interrupts any more, as far as the device listens.
    pub fn ignore(&mut self) {
        self.queue.interrupts_off()
    }

    /// What came so far that was too short to be a frame.
    pub fn runts(&self) -> u64 {
        self.runts
    }
}
