//! The buffers of one queue: each is free, with us, or with the device.

use super::dma::Buffers;
use super::{Error, Memory};
use crate::ring::Queue;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// A queue, and a buffer for each of its descriptors.
pub(super) struct Pool {
    pub queue: Queue,
    buffers: Buffers,
    /// Which buffer a descriptor holds.
    held: Box<[u16]>,
    free: Vec<u16>,
}

impl Pool {
    /// All buffers are free.
    pub fn new<M: Memory>(queue: Queue) -> Result<Pool, Error> {
        let n = queue.left();
        Ok(Pool {
            buffers: Buffers::new::<M>(n)?,
            held: vec![0; n.into()].into(),
            free: (0..n).collect(),
            queue,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// How many are free.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// A free buffer is the caller's.
    pub fn take(&mut self) -> Option<u16> {
        self.free.pop()
    }

    /// The caller's buffer `i` is free.
    pub fn put(&mut self, i: u16) {
        self.free.push(i)
    }

    /// The first `len` bytes of the caller's buffer `i`.
    pub fn bytes(&mut self, i: u16, len: usize) -> &mut [u8] {
        self.buffers.bytes(i, len)
    }

    /// The caller's buffer `i` goes into the ring. False: it is free, since the ring is broken: there is a descriptor for each.
    pub fn give(&mut self, i: u16, len: usize, device_writes: bool) -> bool {
        let given = self.queue.add(&[self.buffers.give(i, len, device_writes)]);
        match given {
            Ok(head) => self.held[usize::from(head)] = i,
            Err(_) => self.free.push(i),
        }
        given.is_ok()
    }

    /// A buffer that came back is the caller's; and how many bytes the device wrote.
    pub fn pop(&mut self) -> Result<Option<(u16, usize)>, Error> {
        let used = self.queue.pop()?;
        Ok(used.map(|u| (self.held[usize::from(u.head)], u.len as usize)))
    }
}
