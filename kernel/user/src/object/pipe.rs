//! Pipes: bytes from who has the writing end to who has the reading end, through a ring of 64 KiB.

use crate::account::Charge;
use crate::wait::Wait;
use abi::Error;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use base::{Rank, SpinLock};
use csp::waitq::{Batch, WaitQueue};

/// Bytes that have been written and not read, at most.
pub const PIPE_BYTES: usize = 64 << 10;

/// The reading end; the last reference that is dropped makes writes fail.
pub struct ReadEnd(Arc<Pipe>);

/// The writing end; the last reference that is dropped is the end of what is read.
pub struct WriteEnd(Arc<Pipe>);

struct Pipe {
    state: SpinLock<State>,
    _charge: Option<Charge>,
}

struct State {
    ring: VecDeque<u8>,
    no_reader: bool,
    no_writer: bool,
    readers: WaitQueue,
    writers: WaitQueue,
}

/// A pipe. `charge`: whose memory its ring is, if it is a process's.
///
/// # Errors
/// `OutOfMemory`.
pub fn pipe(charge: Option<Charge>) -> Result<(Arc<ReadEnd>, Arc<WriteEnd>), Error> {
    let mut ring = VecDeque::new();
    ring.try_reserve_exact(PIPE_BYTES)
        .map_err(|_| Error::OutOfMemory)?;
    let state = State {
        ring,
        no_reader: false,
        no_writer: false,
        readers: WaitQueue::new(),
        writers: WaitQueue::new(),
    };
    let pipe = Arc::new(Pipe {
        state: SpinLock::new(Rank::Channel, state),
        _charge: charge,
    });
    Ok((Arc::new(ReadEnd(pipe.clone())), Arc::new(WriteEnd(pipe))))
}

impl ReadEnd {
    /// Reads some bytes, waits for the first; how many. 0: nobody is left to write, or `to` is empty.
    ///
    /// # Errors
    /// Those of the wait.
    pub fn read(&self, mut wait: Wait<'_>, to: &mut [u8]) -> Result<usize, Error> {
        if to.is_empty() {
            return Ok(0);
        }
        wait.until(&self.0.state, |s| &mut s.readers, |s| s.read(to))
    }
}

impl WriteEnd {
    /// Writes some bytes, waits for room for the first; how many.
    ///
    /// # Errors
    /// `Closed`: nobody is left to read. Those of the wait.
    pub fn write(&self, mut wait: Wait<'_>, from: &[u8]) -> Result<usize, Error> {
        if from.is_empty() {
            return Ok(0);
        }
        wait.until(&self.0.state, |s| &mut s.writers, |s| s.write(from))?
    }
}

/// What it was, and who can go on. All who wait go on: who finds nothing waits again.
type Done<T> = Option<(T, Option<Batch>)>;

impl State {
    fn read(&mut self, to: &mut [u8]) -> Done<usize> {
        if self.ring.is_empty() {
            return self.no_writer.then_some((0, None));
        }
        let n = to.len().min(self.ring.len());
        let (first, second) = self.ring.as_slices();
        let in_first = n.min(first.len());
        to[..in_first].copy_from_slice(&first[..in_first]);
        to[in_first..n].copy_from_slice(&second[..n - in_first]);
        self.ring.drain(..n);
        Some((n, Some(self.writers.pop_all())))
    }

    fn write(&mut self, from: &[u8]) -> Done<Result<usize, Error>> {
        if self.no_reader {
            return Some((Err(Error::Closed), None));
        }
        let n = from.len().min(PIPE_BYTES - self.ring.len());
        if n == 0 {
            return None;
        }
        self.ring.extend(&from[..n]);
        Some((Ok(n), Some(self.readers.pop_all())))
    }
}

impl Drop for ReadEnd {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.no_reader = true;
        let writers = state.writers.pop_all();
        drop(state);
        writers.ready(true)
    }
}

impl Drop for WriteEnd {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.no_writer = true;
        let readers = state.readers.pop_all();
        drop(state);
        readers.ready(true)
    }
}
