//! Frames that come.

use super::dma::BUFFER_BYTES;
use super::header::{self, HEADER_BYTES};
use super::pool::Pool;
use super::{Bell, Error, FRAME_LEAST};

/// A frame, where the device has put it.
pub struct Frame<'a> {
    /// From Ethernet's header on, without the check sequence at its end.
    pub bytes: &'a mut [u8],
    /// Nobody need look at TCP's or UDP's checksum.
    pub checked: bool,
}

/// The receiving half.
pub struct Receiver<B: Bell> {
    pool: Pool,
    bell: B,
    /// What came that is no frame.
    runts: u64,
}

impl<B: Bell> Receiver<B> {
    pub(super) fn new(pool: Pool, bell: B) -> Receiver<B> {
        Receiver {
            pool,
            bell,
            runts: 0,
        }
    }

    /// Gives the device every buffer that it does not have.
    pub(super) fn refill(&mut self) {
        while let Some(i) = self.pool.take() {
            if !self.pool.give(i, BUFFER_BYTES, true) {
                return;
            }
        }
        if self.pool.queue.publish() && !trace::lost!("net.kick") {
            self.bell.ring()
        }
    }

    /// Tells the device of its buffers, whether it wants to be told or not.
    pub fn remind(&mut self) {
        self.refill();
        self.bell.ring()
    }

    /// Calls `f` for each frame that has come, `budget` of them at most. How many there were.
    ///
    /// # Errors
    /// The device broke the rules: nothing comes any more.
    pub fn receive(&mut self, budget: usize, mut f: impl FnMut(Frame<'_>)) -> Result<usize, Error> {
        let mut n = 0;
        while n < budget {
            let Some((i, len)) = self.pool.pop()? else {
                break;
            };
            let bytes = self.pool.bytes(i, len);
            if bytes.len() < HEADER_BYTES + FRAME_LEAST {
                self.runts += 1
            } else {
                let (head, bytes) = bytes.split_at_mut(HEADER_BYTES);
                let checked = header::is_checked(head);
                f(Frame { bytes, checked })
            }
            self.pool.put(i);
            n += 1;
            // A device that runs dry drops frames.
            if self.pool.free() * 4 >= self.pool.len() {
                self.refill()
            }
        }
        if n != 0 {
            self.refill()
        }
        Ok(n)
    }

    /// Asks for an interrupt at the next frame, and makes sure that the device knows of its buffers (I-LATE). True: a frame is there
    /// already.
    #[must_use = "for a frame that has come there may be no interrupt"]
    pub fn listen(&mut self) -> bool {
        if self.pool.queue.wants_late_kick() && !trace::lost!("net.kick") {
            self.bell.ring()
        }
        self.pool.queue.interrupts_on()
    }

    /// No interrupts any more, as far as the device listens.
    pub fn ignore(&mut self) {
        self.pool.queue.interrupts_off()
    }

    /// What came so far that was too short to be a frame.
    pub fn runts(&self) -> u64 {
        self.runts
    }
}
