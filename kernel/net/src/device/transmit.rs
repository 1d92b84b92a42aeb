//! Frames that go.

use super::dma::Buffers;
use super::header::{self, HEADER_BYTES};
use super::{Bell, Checksum, Error, FRAME_BYTES, Memory};
use crate::ring::Queue;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The sending half.
pub struct Transmitter<B: Bell> {
    queue: Queue,
    bell: B,
    buffers: Buffers,
    /// Which buffer a descriptor holds.
    held: Box<[u16]>,
    /// Buffers that the device does not have.
    free: Vec<u16>,
}

impl<B: Bell> Transmitter<B> {
    pub(super) fn new<M: Memory>(queue: Queue, bell: B) -> Result<Transmitter<B>, Error> {
        let n = queue.left();
        Ok(Transmitter {
            buffers: Buffers::new::<M>(n)?,
            held: vec![0; n.into()].into(),
            free: (0..n).collect(),
            queue,
            bell,
        })
    }

    /// Puts a frame of `len` bytes, which `fill` writes, into the ring; it leaves at the next [`Transmitter::flush`]. False: there
    /// is no room, until the device has sent others.
    ///
    /// # Errors
    /// The device broke the rules: nothing goes any more.
    ///
    /// # Panics
    /// If `len` is above [`FRAME_BYTES`].
    pub fn send(
        &mut self,
        len: usize,
        checksum: Option<Checksum>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<bool, Error> {
        assert!(len <= FRAME_BYTES, "a frame of {len} bytes");
        if self.free.is_empty() {
            self.reclaim()?
        }
        let Some(i) = self.free.pop() else {
            return Ok(false);
        };
        let bytes = self.buffers.bytes(i, HEADER_BYTES + len);
        header::write(bytes, checksum);
        fill(&mut bytes[HEADER_BYTES..]);
        let buffer = self.buffers.give(i, HEADER_BYTES + len, false);
        match self.queue.add(&[buffer]) {
            Ok(head) => self.held[usize::from(head)] = i,
            Err(_) => {
                // A descriptor for each buffer: the ring is broken, and says how.
                self.free.push(i);
                self.reclaim()?
            }
        }
        Ok(true)
    }

    /// Lets all frames go.
    pub fn flush(&mut self) {
        if self.queue.publish() {
            self.bell.ring()
        }
    }

    /// Takes back the buffers of frames that have gone.
    ///
    /// # Errors
    /// As [`Transmitter::send`].
    pub fn reclaim(&mut self) -> Result<(), Error> {
        while let Some(used) = self.queue.pop()? {
            self.free.push(self.held[usize::from(used.head)])
        }
        Ok(())
    }

    /// Asks for an interrupt when a frame has gone: for who waits for room. True: one has gone already.
    #[must_use = "for a frame that has gone there may be no interrupt"]
    pub fn listen(&mut self) -> bool {
        self.queue.interrupts_on()
    }

    /// No interrupts any more, as far as the device listens.
    pub fn ignore(&mut self) {
        self.queue.interrupts_off()
    }

    /// Frames that the device has.
    pub fn under_way(&self) -> u16 {
        self.queue.out()
    }
}
