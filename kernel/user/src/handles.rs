//! The handles of a process: small numbers, shared by its threads, lowest free one first.
//!
//! Each counts for the process, with what it keeps alive and nothing else is charged for: whatever a program makes by a call, it has a
//! handle to.

use crate::account::{Account, Charge};
use crate::object::Object;
use crate::stop::Stop;
use crate::wait::Closing;
use abi::Error;
use alloc::sync::Arc;
use alloc::vec::Vec;
use base::{Rank, SpinLock};

/// What a handle counts for, in bytes: its entry, and a file that is open, an end of a pipe or a channel and half of what is between,
/// or a process that has ended. What may be larger has a charge of its own.
pub const HANDLE_BYTES: u64 = 1024;

/// What a handle stands for. Another handle to the same object is another one of these: closing is of one handle.
pub struct Entry {
    /// What it is a handle to.
    pub object: Object,
    /// Whether it is closed.
    pub closing: Closing,
    _charge: Charge,
}

/// A process's handles.
pub struct Handles {
    table: SpinLock<Table>,
    limit: usize,
    account: Arc<Account>,
}

struct Table {
    entries: Vec<Option<Arc<Entry>>>,
    /// The process has ended: there will be no more.
    over: bool,
}

/// A handle that was just made. Whoever guessed its number may have closed it by now, and have another one of that number.
pub struct Made {
    /// Its number.
    pub number: u32,
    entry: Arc<Entry>,
}

impl Handles {
    /// No handles, and at most `limit` at a time, which count for `account`.
    pub fn new(limit: usize, account: Arc<Account>) -> Handles {
        let table = Table {
            entries: Vec::new(),
            over: false,
        };
        Handles {
            table: SpinLock::new(Rank::Channel, table),
            limit,
            account,
        }
    }

    fn entry(&self, object: Object) -> Result<Arc<Entry>, Error> {
        Ok(Arc::new(Entry {
            object,
            closing: Closing::new(),
            _charge: self.account.charge(HANDLE_BYTES)?,
        }))
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
    /// `Limit`, `OutOfMemory`; `Killed`: the process has ended.
    pub fn insert(&self, object: Object) -> Result<u32, Error> {
        let [made] = self.make([object])?;
        Ok(made.number)
    }

    /// Handle number `handle` to `object`: what a new process begins with.
    ///
    /// # Errors
    /// As [`insert`](Self::insert); `BadArgument`: the number is in use.
    pub fn insert_as(&self, handle: u32, object: Object) -> Result<u32, Error> {
        let (at, entry) = (handle as usize, self.entry(object)?);
        let mut table = self.table.lock();
        if table.over {
            return Err(Error::Killed);
        }
        if at >= self.limit {
            return Err(Error::Limit);
        }
        if !table.is_free(at) {
            return Err(Error::BadArgument);
        }
        table.put(at, entry);
        Ok(handle)
    }

    /// Handles to all of these, or to none: the ends of a pipe or a channel. [`unmake`](Self::unmake) takes them back.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn make<const N: usize>(&self, objects: [Object; N]) -> Result<[Made; N], Error> {
        let mut entries = Vec::with_capacity(N); // dropped without the lock, if need be
        for object in objects {
            entries.push(self.entry(object)?)
        }
        let mut table = self.table.lock();
        if table.over {
            return Err(Error::Killed);
        }
        let mut numbers = [0; N];
        let mut free = (0..self.limit).filter(|&at| table.is_free(at));
        for number in &mut numbers {
            *number = free.next().ok_or(Error::Limit)?
        }
        drop(free);
        Ok(core::array::from_fn(|i| {
            table.put(numbers[i], entries[i].clone());
            Made {
                number: numbers[i] as u32,
                entry: entries[i].clone(),
            }
        }))
    }

    /// Takes back what the program does not know of yet, unless another thread has closed it by then.
    pub fn unmake(&self, made: &Made, stop: &Stop) {
        let mut table = self.table.lock();
        let place = table.entries.get_mut(made.number as usize);
        let is_it = |entry: &mut Arc<Entry>| Arc::ptr_eq(entry, &made.entry);
        let gone = place.and_then(|place| place.take_if(is_it));
        drop(table);
        if let Some(entry) = gone {
            entry.closing.close(stop)
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
    fn is_free(&self, at: usize) -> bool {
        self.entries.get(at).is_none_or(Option::is_none)
    }

    fn put(&mut self, at: usize, entry: Arc<Entry>) {
        if self.entries.len() <= at {
            self.entries.resize(at + 1, None)
        }
        self.entries[at] = Some(entry)
    }
}

#[cfg(test)]
mod tests;
