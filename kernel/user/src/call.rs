//! The calls on handles, one function each. A call's arguments are any numbers; its answer is a number, or an error.
//!
//! What a call moves goes through a piece of kernel memory of 4 KiB at most: the rest is another call's. Whether the program's
//! memory is there is asked before anything is taken that would be lost.

mod bytes;
mod messages;
mod network;
#[cfg(test)]
mod tests;

pub use bytes::{disk_read, open, pipe, read, shm, size, write};
pub use messages::{chan, futex_wait, futex_wake, recv, send};
pub use network::{accept, connect, listen, port};

use crate::account::Account;
use crate::files::Files;
use crate::futex::Futexes;
use crate::handles::{Entry, Handles};
use crate::memory::UserMemory;
use crate::object::Object;
use crate::object::shm::Frames;
use crate::wait::{Wait, Waits};
use abi::Error;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sched::WaitReason;

/// What the kernel around this crate does for the calls.
pub struct Services {
    /// Writes to the console, or to its error side, as one piece.
    pub console_write: fn(&[u8], bool),
    /// Reads whole sectors from that number on. Occupies its CPU, and hands the P on meanwhile.
    pub disk_read: fn(u64, &mut [u8]) -> Result<(), Error>,
    /// Memory to share.
    pub frames: Frames,
    /// Files that can be opened.
    pub files: Arc<dyn Files>,
    /// Who waits for which word.
    pub futexes: &'static Futexes,
}

/// Who calls.
pub struct Ctx<'a> {
    /// The memory of the process.
    pub memory: &'a dyn UserMemory,
    /// Its handles.
    pub handles: &'a Handles,
    /// What it may use.
    pub account: &'a Arc<Account>,
    /// The thread, as one that waits.
    pub waits: &'a Waits,
    /// The kernel.
    pub services: &'a Services,
}

impl Ctx<'_> {
    fn wait_on<'a>(&'a self, entry: &'a Entry, reason: WaitReason) -> Wait<'a> {
        self.waits.wait_on(&entry.closing, reason)
    }

    /// Nothing can be copied from anywhere.
    fn copy_in(&self, from: u64, to: &mut [u8]) -> Result<(), Error> {
        if to.is_empty() {
            return Ok(());
        }
        self.memory.copy_in(from, to)
    }

    fn copy_out(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        if from.is_empty() {
            return Ok(());
        }
        self.memory.copy_out(to, from)
    }
}

/// Bytes that a call moves at most.
const CHUNK: u64 = 4096;
/// Up to so many are on the thread's stack.
const SMALL: usize = 256;

/// Calls `f` with room for `n` bytes, [`CHUNK`] at most, full of zeroes.
fn with_buffer<R>(
    ctx: &Ctx<'_>,
    n: u64,
    f: impl FnOnce(&mut [u8]) -> Result<R, Error>,
) -> Result<R, Error> {
    let n = n.min(CHUNK) as usize;
    if n <= SMALL {
        return f(&mut [0; SMALL][..n]);
    }
    // A thread may sleep with it.
    let _charge = ctx.account.charge_heap(n as u64)?;
    f(&mut zeroes(n)?)
}

/// So many bytes.
pub(crate) fn zeroes(n: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(n).map_err(|_| Error::OutOfMemory)?;
    bytes.resize(n, 0);
    Ok(bytes)
}

/// Two handles, which the program finds at `address`: all or nothing.
fn two_handles(ctx: &Ctx<'_>, address: u64, objects: [Object; 2]) -> Result<u64, Error> {
    let stop = ctx.waits.stop();
    let made = ctx.handles.make(objects)?;
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&made[0].number.to_le_bytes());
    bytes[4..].copy_from_slice(&made[1].number.to_le_bytes());
    let told = ctx.copy_out(address, &bytes);
    if told.is_err() {
        made.iter().for_each(|made| ctx.handles.unmake(made, stop))
    }
    told.map(|()| 0)
}

/// `Close`: gives a handle up.
///
/// # Errors
/// `BadHandle`.
pub fn close(ctx: &Ctx<'_>, handle: u64) -> Result<u64, Error> {
    ctx.handles.close(handle, ctx.waits.stop()).map(|()| 0)
}

/// `Duplicate`: another handle to the same.
///
/// # Errors
/// `BadHandle`, `Limit`.
pub fn duplicate(ctx: &Ctx<'_>, handle: u64) -> Result<u64, Error> {
    ctx.handles.duplicate(handle).map(u64::from)
}

/// `Sleep`: `ns` nanoseconds.
///
/// # Errors
/// `Killed`.
pub fn sleep(ctx: &Ctx<'_>, ns: u64) -> Result<u64, Error> {
    ctx.waits.sleep(ns).map(|()| 0)
}
