//! The handles of a process: small numbers, shared by its threads, lowest free one first.

use crate::object::Object;
use crate::stop::Stop;
use crate::wait::Closing;
use abi::Error;
use alloc::sync::Arc;
use alloc::vec::Vec;
use base::{Rank, SpinLock};

/// What a handle stands for. Another handle to the same object is another one of these: closing is of one handle.
pub struct Entry {
    /// What it is a handle to.
    pub object: Object,
    /// Whether it is closed.
    pub closing: Closing,
}

impl Entry {
    fn new(object: Object) -> Arc<Entry> {
        Arc::new(Entry {
            object,
            closing: Closing::new(),
        })
    }
}

/// A process's handles.
pub struct Handles {
    table: SpinLock<Table>,
    limit: usize,
}

struct Table {
    entries: Vec<Option<Arc<Entry>>>,
    /// The process has ended: there will be no more.
    over: bool,
}

impl Handles {
    /// No handles, and at most `limit` at a time.
    pub fn new(limit: usize) -> Handles {
        let table = Table {
            entries: Vec::new(),
            over: false,
        };
        Handles {
            table: SpinLock::new(Rank::Channel, table),
            limit,
        }
    }

    /// What `handle` stands for.
    ///
    /// # Errors
    /// `BadHandle`.
    pub fn get(&self, handle: u64) -> Result<Arc<Entry>, Error> {
        let at = usize::try_from(handle).map_err(|_| Error::BadHandle)?;
        let table = self.table.lock();
        let entry = table.entries.get(at).cloned().flatten();
        entry.ok_or(Error::BadHandle)
    }

    /// A handle to `object`: the lowest number that is free.
    ///
    /// # Errors
    /// `Limit`; `Killed`: the process has ended.
    pub fn insert(&self, object: Object) -> Result<u32, Error> {
        self.insert_at(|table| table.lowest_free(), object)
    }

    /// Handle number `handle` to `object`: what a new process begins with.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); `BadArgument`: the number is in use.
    pub fn insert_as(&self, handle: u32, object: Object) -> Result<u32, Error> {
        self.insert_at(|_| handle as usize, object)
    }

    fn insert_at(&self, place: impl FnOnce(&Table) -> usize, object: Object) -> Result<u32, Error> {
        let entry = Entry::new(object); // dropped without the lock, if need be
        let mut table = self.table.lock();
        let at = place(&table);
        if table.over {
            return Err(Error::Killed);
        }
        if at >= self.limit {
            return Err(Error::Limit);
        }
        if table.entries.len() <= at {
            table.entries.resize(at + 1, None)
        }
        if table.entries[at].is_some() {
            return Err(Error::BadArgument);
        }
        table.entries[at] = Some(entry);
        drop(table);
        Ok(at as u32)
    }

    /// Two at once, or none: the ends of a pipe or a channel.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_two(&self, objects: [Object; 2], stop: &Stop) -> Result<[u32; 2], Error> {
        let [first, second] = objects;
        let first = self.insert(first)?;
        match self.insert(second) {
            Ok(second) => Ok([first, second]),
            Err(error) => {
                // Another thread that guessed the number may have closed it.
                let _ = self.close(u64::from(first), stop);
                Err(error)
            }
        }
    }

    /// Gives `handle` up. Threads of the process, which `stop` is of, that wait on it go on with [`Error::BadHandle`].
    ///
    /// # Errors
    /// `BadHandle`.
    pub fn close(&self, handle: u64, stop: &Stop) -> Result<(), Error> {
        let at = usize::try_from(handle).map_err(|_| Error::BadHandle)?;
        let mut table = self.table.lock();
        let entry = table.entries.get_mut(at).and_then(Option::take);
        drop(table);
        entry.ok_or(Error::BadHandle)?.closing.close(stop);
        Ok(())
    }

    /// Another handle to what `handle` stands for.
    ///
    /// # Errors
    /// `BadHandle`, and as [`insert`](Self::insert).
    pub fn duplicate(&self, handle: u64) -> Result<u32, Error> {
        self.insert(self.get(handle)?.object.clone())
    }

    /// The process has ended: all its handles, and there will be no more. To be dropped by the caller, with no lock held.
    pub fn take_all(&self) -> Vec<Option<Arc<Entry>>> {
        let mut table = self.table.lock();
        table.over = true;
        core::mem::take(&mut table.entries)
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.table.lock().entries.iter().flatten().count()
    }
}

impl Table {
    fn lowest_free(&self) -> usize {
        let free = self.entries.iter().position(Option::is_none);
        free.unwrap_or(self.entries.len())
    }
}

#[cfg(test)]
mod tests;
