//! Taking memory out of a space (I-GOING).
//!
//! ```text
//!   an area is going: nobody touches it, its place is taken ── its pages leave the tables, some at a time
//!        ▲                                                                 │
//!        │ more                                                            ▼
//!        └──────────── frames are free, areas removed ◄──── every CPU has forgotten them (no lock held)
//! ```

use super::areas::{AT_ONCE, Areas, Kind};
use super::{Space, USER_BASE, USER_END};
use crate::machine::{self, PAGE};
use abi::Error;
use alloc::vec::Vec;

/// Frames that are taken out before the CPUs are asked to forget them.
const BATCH: usize = 512;

/// What was taken out and may still be remembered.
struct Taken {
    frames: Vec<u64>,
    /// Frames of others: only their pages go.
    shared: bool,
    /// Areas of which no page is left.
    areas: Vec<u64>,
}

impl Taken {
    /// Room for a batch of at most `pages` pages, also if each is an area: once it has begun, nothing is in need of memory.
    fn with_room(pages: u64) -> Result<Taken, Error> {
        let n = BATCH.min(usize::try_from(pages).unwrap_or(BATCH));
        let room = || -> Result<Vec<u64>, Error> {
            let mut room = Vec::new();
            room.try_reserve_exact(n).map_err(|_| Error::OutOfMemory)?;
            Ok(room)
        };
        Ok(Taken {
            frames: room()?,
            shared: false,
            areas: room()?,
        })
    }
}

impl Space {
    /// Takes out whatever `map` and `map_shared` have mapped there. When it returns no thread can reach it.
    ///
    /// # Errors
    /// [`Error::BadArgument`]: no whole pages; [`Error::BadAddress`]: outside, wrapping, nothing is mapped there, or something
    /// that stays; [`Error::Limit`], [`Error::OutOfMemory`]: too many pieces would be left, or there is no room for more. Nothing was taken out then.
    pub fn unmap(&self, address: u64, bytes: u64) -> Result<(), Error> {
        if bytes == 0 || !bytes.is_multiple_of(PAGE) || !address.is_multiple_of(PAGE) {
            return Err(Error::BadArgument);
        }
        let end = address.checked_add(bytes).ok_or(Error::BadAddress)?;
        if address < USER_BASE || end > USER_END {
            return Err(Error::BadAddress);
        }
        self.look(address, end)?;
        let mut taken = Taken::with_room(bytes / PAGE)?;
        let by = self.areas.lock().cut(address, end)?;
        let mut from = address;
        loop {
            from = self.take(by, from, end, &mut taken);
            if !taken.frames.is_empty() || taken.shared {
                self.tables.shoot_down()
            }
            self.let_go(&mut taken);
            if from == end {
                return Ok(());
            }
        }
    }

    /// Whether ring 3 has mapped something between the two, and nothing else lies there.
    fn look(&self, start: u64, end: u64) -> Result<(), Error> {
        let (mut from, mut any) = (Some(start), false);
        while let Some(at) = from {
            let (more, next) = self.areas.lock().look(at, end)?;
            (from, any) = (next, any || more)
        }
        any.then_some(()).ok_or(Error::BadAddress)
    }

    /// Takes pages of this caller's areas out of the tables until there are enough of them; where to go on.
    fn take(&self, by: u64, mut from: u64, end: u64, taken: &mut Taken) -> u64 {
        while from < end && taken.frames.len() + AT_ONCE <= BATCH && taken.areas.len() < BATCH {
            let mut areas = self.areas.lock();
            from = self.take_some(&mut areas, by, from, end, taken);
        }
        from
    }

    /// The same for a few pages of the first of these areas that begins at `from` or behind it.
    fn take_some(&self, areas: &mut Areas, by: u64, from: u64, end: u64, taken: &mut Taken) -> u64 {
        let start = match areas.first_of(by, from, end) {
            Ok(start) => start,
            Err(further) => return further,
        };
        let (area_end, next, shared) = areas.going(start, by);
        let stop = area_end.min(*next + AT_ONCE as u64 * PAGE);
        while *next < stop {
            // SAFETY: the areas are locked: one caller at a time.
            match unsafe { self.tables.unmap(*next) } {
                Some(_) if shared => taken.shared = true,
                Some(frame) => taken.frames.push(frame),
                None => {}
            }
            *next += PAGE
        }
        if stop < area_end {
            return start;
        }
        taken.areas.push(start);
        area_end
    }

    /// Nobody can reach these any more.
    fn let_go(&self, taken: &mut Taken) {
        let frames = taken.frames.len() as u64;
        for frame in taken.frames.drain(..) {
            // SAFETY: taken out of the only table that named it, and shot down.
            unsafe { machine::free_frame(frame) }
        }
        self.account.give(frames);
        taken.shared = false;
        for starts in taken.areas.chunks(AT_ONCE) {
            let mut shared = [const { None }; AT_ONCE];
            let mut areas = self.areas.lock();
            for (&start, shared) in starts.iter().zip(&mut shared) {
                let area = areas.remove(start);
                if let Kind::Going {
                    memory: Some(memory),
                    ..
                } = area.kind
                {
                    *shared = Some(memory);
                    self.account.give((area.end - start) / PAGE)
                }
            }
            drop(areas);
            drop(shared) // its frames may end here: not under the lock
        }
        taken.areas.clear()
    }
}
