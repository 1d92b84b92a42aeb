//! Frames that go.

use super::header::{self, HEADER_BYTES};
use super::pool::Pool;
use super::{Bell, Checksum, Error, FRAME_BYTES, FRAME_LEAST};

/// The sending half.
pub struct Transmitter<B: Bell> {
    pool: Pool,
    bell: B,
}

impl<B: Bell> Transmitter<B> {
    pub(super) fn new(pool: Pool, bell: B) -> Transmitter<B> {
        Transmitter { pool, bell }
    }

    /// Puts a frame of `len` bytes, which `fill` writes, into the ring; it leaves at the next [`Transmitter::flush`]. False: there
    /// is no room, until the device has sent others, all of which leave now.
    ///
    /// # Errors
    /// The device broke the rules: nothing goes any more.
    ///
    /// # Panics
    /// If `len` is not from [`FRAME_LEAST`] to [`FRAME_BYTES`], or the checksum is not inside of the frame.
    pub fn send(
        &mut self,
        len: usize,
        checksum: Option<Checksum>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<bool, Error> {
        let fits = |c: Checksum| usize::from(c.start) + usize::from(c.offset) + 2 <= len;
        assert!(
            (FRAME_LEAST..=FRAME_BYTES).contains(&len) && checksum.is_none_or(fits),
            "a frame of {len} bytes with {checksum:?}"
        );
        if self.pool.free() == 0 {
            self.reclaim()?
        }
        let Some(i) = self.pool.take() else {
            // Those in the ring may be of callers who were switched away before they let them go: nobody waits for that.
            self.flush();
            return Ok(false);
        };
        let bytes = self.pool.bytes(i, HEADER_BYTES + len);
        header::write(bytes, checksum);
        fill(&mut bytes[HEADER_BYTES..]);
        if !self.pool.give(i, HEADER_BYTES + len, false) {
            self.reclaim()? // says how the ring is broken
        }
        Ok(true)
    }

    /// Lets all frames go.
    pub fn flush(&mut self) {
        if let Some(bell) = self.publish() {
            bell.ring()
        }
    }

    /// Shows the device all frames. The caller has to ring the bell, if there is one: the device waits for that.
    #[must_use = "a device that wants to be told waits for it"]
    pub fn publish(&mut self) -> Option<B> {
        let wanted = self.pool.queue.publish() && !trace::lost!("net.kick");
        wanted.then(|| self.bell.clone())
    }

    /// The bell that has to be rung, if the device may not know of all frames that were let go (I-LATE): for who does not look again
    /// soon.
    #[must_use = "a device that wants to be told waits for it"]
    pub fn settle(&mut self) -> Option<B> {
        let wanted = self.pool.queue.wants_late_kick() && !trace::lost!("net.kick");
        wanted.then(|| self.bell.clone())
    }

    /// As [`Transmitter::publish`], for a device that is told whether it wants to be or not.
    #[must_use = "the device may wait for it"]
    pub fn remind(&mut self) -> B {
        // What it says is of no account here.
        let _ = self.pool.queue.publish();
        self.bell.clone()
    }

    /// Takes back the buffers of frames that have gone.
    ///
    /// # Errors
    /// As [`Transmitter::send`].
    pub fn reclaim(&mut self) -> Result<(), Error> {
        while let Some((i, _)) = self.pool.pop()? {
            self.pool.put(i)
        }
        Ok(())
    }

    /// Asks for an interrupt when a frame has gone: for who waits for room. True: one has gone already.
    #[must_use = "for a frame that has gone there may be no interrupt"]
    pub fn listen(&mut self) -> bool {
        self.pool.queue.interrupts_on()
    }

    /// No interrupts any more, as far as the device listens.
    pub fn ignore(&mut self) {
        self.pool.queue.interrupts_off()
    }

    /// Is there room for a frame, as far as is known without a [`Transmitter::reclaim`]?
    pub fn has_room(&self) -> bool {
        self.pool.free() != 0
    }

    /// Frames that have not gone, those that wait for [`Transmitter::flush`] included.
    pub fn under_way(&self) -> u16 {
        self.pool.queue.out()
    }
}
