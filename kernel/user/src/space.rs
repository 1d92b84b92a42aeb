//! The address space of a process: what it has mapped, and what becomes of a page that is touched.
//!
//! ```text
//!   0x1_0000        the program's segments, where its file wants them (usually from 0x40_0000)
//!   0x1_0000_0000   what `Map` and `ShmMap` give out, the lowest room first, an unmapped page between any two
//!   …7fff_ffef_0000 top of the first thread's stack: 256 KiB, nothing mapped for a GiB below
//! ```
//!
//! An *area* is a row of pages with one kind of content. Mapping makes an area, nothing more: a page gets its frame when it is
//! touched, by ring 3 ([`Space::fault`]) or by the kernel on its behalf ([`Space::copy_in`], [`Space::copy_out`]).
//! The kernel itself never follows an address of ring 3: it walks areas and page tables and goes through its own map of all memory,
//! page by page, with the space locked. So whatever ring 3 passes, the kernel does not fault.
//!
//! **I-GOING** Pages that are taken out leave the tables first, then every CPU forgets them, and only then are their frames free and
//! is their place given out again (`unmap.rs`). Nobody waits for CPUs with the lock held.
//!
//! **I-WX** No page can be written and executed, now or later: an area's access never changes.

mod areas;
mod copy;
#[cfg(test)]
mod tests;
mod unmap;

use crate::asleep::Asleep;
use crate::files::Bytes;
use crate::limits::{self, PageAccount};
use crate::machine::{self, PAGE, Tables, USER_BASE, USER_END};
use crate::memory::{Owner, WordKey};
use abi::Error;
use alloc::sync::Arc;
use areas::{Area, Areas, Kind};
use base::lock::{Rank, SpinLock};

pub use crate::machine::Access;

/// Memory that several processes may have mapped. Its frames are whole, and stay for as long as it does.
pub trait SharedFrames: Send + Sync {
    /// Its frames, in their order.
    fn frames(&self) -> &[u64];

    /// What words in it are known by.
    fn owner(&self) -> Owner;
}

/// Bytes of the first thread's stack.
pub const STACK_BYTES: u64 = 256 << 10;
/// Its top.
pub const STACK_TOP: u64 = USER_END - (1 << 20);
/// Where `Map` begins.
const MAP_BASE: u64 = 1 << 32;
/// Where it ends: far below the stack.
const MAP_END: u64 = STACK_TOP - (1 << 30);

/// Why a page may not be touched so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It is the kernel's, or nobody's: outside of what ring 3 may have.
    Outside,
    /// Nothing is mapped there.
    Nothing,
    /// It is the page below a stack, or the one behind its end.
    Guard,
    /// It can only be read.
    ReadOnly,
    /// It is data.
    NotExecutable,
    /// The page is there and may be touched so, but the machine did it with the kernel's rights, which SMAP forbids.
    AsKernel,
    /// No memory for it, or no right to more.
    OutOfMemory,
}

/// How a page is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// By a read.
    Read,
    /// By a write.
    Write,
    /// By running it.
    Execute,
}

/// The memory of one process. Its threads share it; the last one that lets go gives all of it back, and waits for every CPU to have
/// left it: on a goroutine, with no lock held.
pub struct Space {
    tables: Tables,
    areas: SpinLock<Areas>,
    account: Arc<PageAccount>,
    /// What words in memory of its own are known by.
    owner: Owner,
    /// The threads that run in it.
    asleep: Asleep,
}

impl Space {
    /// The threads that run in it, by what wakes them.
    pub fn asleep(&self) -> &Asleep {
        &self.asleep
    }

    /// What counts the sleepers on a word, if it is this process's alone.
    pub fn sleepers(&self, word: WordKey) -> Option<&Asleep> {
        word.is_of(self.owner).then_some(&self.asleep)
    }

    /// An empty one.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: no frame for its page tables.
    pub fn new(account: Arc<PageAccount>) -> Result<Space, Error> {
        Ok(Space {
            tables: Tables::new().ok_or(Error::OutOfMemory)?,
            areas: SpinLock::new(
                Rank::UserSpace,
                Areas::new(account.limit().saturating_mul(limits::MAPPED_FACTOR)),
            ),
            account,
            owner: Owner::new(),
            asleep: Asleep::default(),
        })
    }

    /// Its page tables: where a thread runs.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Maps `bytes` of zeroes somewhere; their address. A whole number of pages, not 0.
    ///
    /// # Errors
    /// [`Error::BadArgument`], [`Error::OutOfMemory`]: more than it may ever use, or no room, [`Error::Limit`]: too many pieces.
    pub fn map(&self, bytes: u64, write: bool) -> Result<u64, Error> {
        if bytes > self.account.limit().saturating_mul(PAGE) {
            return Err(if bytes.is_multiple_of(PAGE) {
                Error::OutOfMemory
            } else {
                Error::BadArgument
            });
        }
        self.place(
            bytes,
            Area::zero(Access {
                write,
                execute: false,
            }),
        )
    }

    /// Maps all of a shared memory; its address. All its pages count at once.
    ///
    /// # Errors
    /// As [`Space::map`].
    pub fn map_shared(&self, memory: Arc<dyn SharedFrames>, write: bool) -> Result<u64, Error> {
        let pages = memory.frames().len() as u64;
        self.account.take(pages)?;
        let area = Area::shared(
            memory,
            Access {
                write,
                execute: false,
            },
        );
        let placed = self.place(pages * PAGE, area);
        if placed.is_err() {
            self.account.give(pages)
        }
        placed
    }

    fn place(&self, bytes: u64, area: Area) -> Result<u64, Error> {
        if bytes == 0 || !bytes.is_multiple_of(PAGE) {
            return Err(Error::BadArgument);
        }
        if !machine::has_frames(1) {
            return Err(Error::OutOfMemory); // what is kept about areas is not counted
        }
        let mut search = self.areas.lock().search(bytes, MAP_BASE);
        loop {
            let mut areas = self.areas.lock();
            if let Some(place) = areas.room(&mut search, MAP_END) {
                let start = place?;
                return areas.insert(start, start + bytes, area).map(|()| start);
            }
        }
    }

    /// Maps zeroes at a place that the kernel chooses and that ring 3 cannot take out.
    ///
    /// # Errors
    /// As [`Space::map_image`].
    pub fn map_fixed(&self, start: u64, bytes: u64) -> Result<(), Error> {
        let access = Access {
            write: true,
            execute: false,
        };
        self.insert(start, start.checked_add(bytes), Area::zero(access).kept())
    }

    /// Maps a part of a program: the pages that `start` to `start + bytes` lie in, zeroes but for the `len` bytes from `from` on of
    /// `file`, which come to lie at `start`. Ring 3 cannot take it out.
    ///
    /// # Errors
    /// [`Error::BadAddress`]: outside, wrapping, or something is there already; [`Error::OutOfMemory`], [`Error::Limit`].
    ///
    /// # Panics
    /// If the file has not so many bytes, or it could be written and executed (I-WX).
    pub fn map_image(
        &self,
        (start, bytes): (u64, u64),
        file: Bytes,
        (from, len): (usize, usize),
        access: Access,
    ) -> Result<(), Error> {
        assert!(!(access.write && access.execute), "I-WX");
        assert!(
            (*file)
                .as_ref()
                .get(from..)
                .is_some_and(|rest| rest.len() >= len)
        );
        let end = start
            .checked_add(bytes)
            .and_then(|end| end.checked_next_multiple_of(PAGE));
        let area = Area::image(file, (from, len), start, access).kept();
        self.insert(start / PAGE * PAGE, end, area)
    }

    fn insert(&self, start: u64, end: Option<u64>, area: Area) -> Result<(), Error> {
        let end = end.ok_or(Error::BadAddress)?;
        let inside = USER_BASE <= start && start < end && end <= USER_END;
        let mut areas = self.areas.lock();
        if !inside || !areas.is_free(start, end) {
            return Err(Error::BadAddress);
        }
        areas.insert(start, end, area)
    }

    /// A thread has touched a page that its tables do not let it touch so: the page is there afterwards, or it may not.
    ///
    /// # Errors
    /// Why not.
    pub fn fault(&self, address: u64, touch: Touch) -> Result<(), Denied> {
        self.resolve(&self.areas.lock(), address, touch).map(|_| ())
    }

    /// The frame of the page that `address` lies in, backed if it was not. `areas` are its own, locked.
    fn resolve(&self, areas: &Areas, address: u64, touch: Touch) -> Result<u64, Denied> {
        let page = address / PAGE * PAGE;
        if !(USER_BASE..USER_END).contains(&page) {
            return Err(if address < USER_BASE {
                Denied::Nothing
            } else {
                Denied::Outside
            });
        }
        let (start, area) = areas.find(page)?;
        match touch {
            Touch::Write if !area.access.write => return Err(Denied::ReadOnly),
            Touch::Execute if !area.access.execute => return Err(Denied::NotExecutable),
            _ => {}
        }
        // Another thread may have been here first.
        if let Some((frame, _)) = self.tables.lookup(page) {
            return Ok(frame);
        }
        match &area.kind {
            Kind::Shared { memory, first } => {
                let frame = memory.frames()[(first + (page - start) / PAGE) as usize];
                self.map_page(page, frame, area.access)?;
                Ok(frame)
            }
            _ => self.back(page, area),
        }
    }

    /// A page of one's own.
    fn back(&self, page: u64, area: &Area) -> Result<u64, Denied> {
        self.account.take(1).map_err(|_| Denied::OutOfMemory)?;
        let Some(frame) = machine::alloc_frame() else {
            self.account.give(1);
            return Err(Denied::OutOfMemory);
        };
        // SAFETY: the frame is ours and a page long; nobody else has seen it.
        area.fill(page, unsafe {
            let bytes = machine::frame_bytes(frame);
            bytes.write_bytes(0, PAGE as usize);
            core::slice::from_raw_parts_mut(bytes, PAGE as usize)
        });
        self.map_page(page, frame, area.access).inspect_err(|_| {
            // SAFETY: it was not mapped.
            unsafe { machine::free_frame(frame) };
            self.account.give(1)
        })?;
        Ok(frame)
    }

    fn map_page(&self, page: u64, frame: u64, access: Access) -> Result<(), Denied> {
        // SAFETY: the areas are locked, so there is one caller at a time, and `lookup` has found nothing; the frame stays until
        // it is taken out (I-GOING).
        if unsafe { self.tables.map(page, frame, access) } {
            Ok(())
        } else {
            Err(Denied::OutOfMemory)
        }
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let areas = &self.areas;
        self.tables.end(&mut |page, frame| {
            if !areas.lock().is_shared(page) {
                // SAFETY: its own frame, in no table any more, and every CPU has left the space.
                unsafe { machine::free_frame(frame) }
            }
        });
        self.account.give(self.account.used());
    }
}
