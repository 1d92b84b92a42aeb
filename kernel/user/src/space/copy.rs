//! Memory of ring 3, as the kernel reaches it: page by page, with the space locked, through the map of all memory.

use super::{Areas, Denied, Kind, Space, Touch, USER_BASE, USER_END};
use crate::machine::{self, PAGE};
use crate::memory::WordKey;
use abi::Error;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

impl From<Denied> for Error {
    fn from(why: Denied) -> Error {
        match why {
            Denied::OutOfMemory => Error::OutOfMemory,
            _ => Error::BadAddress,
        }
    }
}

/// The end of `bytes` at `address`, if ring 3 may have something mapped there.
fn end_of(address: u64, bytes: u64) -> Result<u64, Error> {
    let end = address.checked_add(bytes).ok_or(Error::BadAddress)?;
    if address < USER_BASE || end > USER_END {
        return Err(Error::BadAddress);
    }
    Ok(end)
}

impl Space {
    /// Copies from ring 3's memory. No bytes: any address will do.
    ///
    /// # Errors
    /// [`Error::BadAddress`]: not all of it can be read; what comes before that may have been copied. [`Error::OutOfMemory`].
    pub fn copy_in(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        self.pages(from, to.len() as u64, Touch::Read, |at, done, n| {
            // SAFETY: `pages` gives `n` bytes of a frame; `to` has them from `done` on. Ring 3 may write there meanwhile: bytes are
            // copied as they are.
            unsafe { to.as_mut_ptr().add(done).copy_from_nonoverlapping(at, n) }
        })
    }

    /// Copies to ring 3's memory. No bytes: any address will do.
    ///
    /// # Errors
    /// As [`Space::copy_in`], for writing.
    pub fn copy_out(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        self.pages(to, from.len() as u64, Touch::Write, |at, done, n| {
            // SAFETY: as in `copy_in`.
            unsafe { at.copy_from_nonoverlapping(from.as_ptr().add(done), n) }
        })
    }

    /// Calls `f` for each page's part of the range: where it is, bytes that came before, bytes.
    fn pages(
        &self,
        address: u64,
        bytes: u64,
        touch: Touch,
        mut f: impl FnMut(*mut u8, usize, usize),
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        let end = end_of(address, bytes)?;
        let mut at = address;
        while at < end {
            let n = (PAGE - at % PAGE).min(end - at);
            let areas = self.areas.lock();
            let frame = self.resolve(&areas, at, touch)?;
            // SAFETY: a byte of the frame, which stays while the areas are locked.
            let there = unsafe { machine::frame_bytes(frame).add((at % PAGE) as usize) };
            f(there, (at - address) as usize, n as usize);
            at += n
        }
        Ok(())
    }

    /// Whether so many bytes can be written there, their pages being backed. They may be taken out at any moment after.
    ///
    /// # Errors
    /// As [`Space::copy_out`].
    pub fn check_out(&self, to: u64, bytes: u64) -> Result<(), Error> {
        self.pages(to, bytes, Touch::Write, |_, _, _| {})
    }

    /// Where an aligned `u32` lies: the same for all who share it, and for nobody else, now or later. Its page is backed.
    ///
    /// # Errors
    /// [`Error::BadAddress`], also if it is no multiple of 4; [`Error::OutOfMemory`].
    pub fn word_key(&self, address: u64) -> Result<WordKey, Error> {
        self.with_u32(address, |_, key| key)
    }

    /// An aligned `u32` of ring 3's memory, read at once.
    ///
    /// # Errors
    /// As [`Space::word_key`].
    pub fn load_u32(&self, address: u64) -> Result<u32, Error> {
        self.with_u32(address, |word, _| word)
    }

    fn with_u32<T>(&self, address: u64, f: impl FnOnce(u32, WordKey) -> T) -> Result<T, Error> {
        if !address.is_multiple_of(4) {
            return Err(Error::BadAddress);
        }
        end_of(address, 4)?;
        let areas: &Areas = &self.areas.lock();
        let frame = self.resolve(areas, address, Touch::Read)?;
        // SAFETY: an aligned word of the frame, which stays while the areas are locked; others write to it as a whole.
        let word = unsafe {
            let at = machine::frame_bytes(frame).add((address % PAGE) as usize);
            AtomicU32::from_ptr(at.cast()).load(SeqCst)
        };
        let (start, area) = areas.find(address / PAGE * PAGE)?;
        let key = match &area.kind {
            Kind::Shared { memory, first } => {
                WordKey::of(memory.owner(), first * PAGE + (address - start))
            }
            _ => WordKey::of(self.owner, address),
        };
        Ok(f(word, key))
    }
}
