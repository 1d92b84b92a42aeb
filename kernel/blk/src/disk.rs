//! Requests to a virtio block device, polled. Virtual I/O Device specification 1.2, section 5.2.
//!
//! ```text
//!            take          start           poll: some poller finds its answer       drop
//!   free ───────────► taken ──────► at the device ─────────► answered ──────────────────► free
//!                                        │ nothing comes
//!                                        └─────────────────► lost: the disk is given up, the memory stays the device's
//! ```
//!
//! The device writes into memory of this module only, never into a caller's buffer: that may lie on a stack whose pages
//! are anywhere, and a device that answers too late must not find somebody else's data there.
//!
//! Kicks are never lost: with the event index, which QEMU offers, `virtio-drivers` kicks unless the device has seen the
//! new request already, and QEMU moves the index on as it takes a request, not as it answers it.

use crate::Error;
use base::{Rank, SpinLock};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use virtio_drivers::device::blk::{BlkReq, BlkResp, VirtIOBlk};
use virtio_drivers::transport::Transport;
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE};

/// Bytes of a sector.
pub const SECTOR_BYTES: usize = 512;
/// Requests that can be under way at once: each takes three of the queue's 16 descriptors.
pub const REQUESTS: usize = 5;
/// Pages of data that one request carries at most.
const DATA_PAGES: usize = 4;
const DATA_BYTES: usize = DATA_PAGES * PAGE_SIZE;

/// A device that has not answered for so long, and at so many looks (the host may have stopped the whole machine
/// meanwhile), never will.
const PATIENCE_NS: u64 = 30_000_000_000;
const PATIENCE_LOOKS: u32 = 100_000;
/// `pause` instructions between two looks: some microseconds.
const PAUSES: u32 = 16;

/// Runs the wait for the device, which occupies the CPU, with interrupts on and preemption not disabled, and touches
/// nothing of the scheduler's. A kernel that can hands its P on meanwhile.
pub type Blocking = fn(&mut dyn FnMut());

/// How many requests a disk has answered well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// What the device gets before the data and gives after it.
struct Header {
    asked: BlkReq,
    answer: BlkResp,
}

/// Memory of one request, the device's while it is there.
#[derive(Clone, Copy)]
struct Memory {
    header: NonNull<Header>,
    data: NonNull<u8>,
}

/// A virtio block device.
pub struct Disk<H: Hal, T: Transport> {
    queue: SpinLock<Queue<H, T>>,
    memory: [Memory; REQUESTS],
    /// Set by whoever finds the answer, cleared at the start of a request.
    answered: [AtomicBool; REQUESTS],
    silent: AtomicBool,
    sectors: u64,
    read_only: bool,
    pub(crate) patience_ns: u64,
    reads: AtomicU64,
    writes: AtomicU64,
}

// SAFETY: the pointers of `memory` lead to memory that is the disk's for good. A request's is used by its taker alone, and
// by whoever has the queue's lock while it is at the device; `T` goes wherever the lock goes.
unsafe impl<H: Hal, T: Transport + Send> Send for Disk<H, T> {}
// SAFETY: as above.
unsafe impl<H: Hal, T: Transport + Send> Sync for Disk<H, T> {}

struct Queue<H: Hal, T: Transport> {
    device: VirtIOBlk<H, T>,
    slots: [Slot; REQUESTS],
}

#[derive(Clone, Copy)]
struct Slot {
    taken: bool,
    /// The queue's name for the request while it is at the device.
    token: Option<u16>,
    write: bool,
    bytes: usize,
    result: Result<(), Error>,
}

const FREE: Slot = Slot {
    taken: false,
    token: None,
    write: false,
    bytes: 0,
    result: Ok(()),
};

fn memory<H: Hal>() -> Option<[Memory; REQUESTS]> {
    let pages = |n| {
        let (phys, at) = H::dma_alloc(n, BufferDirection::Both);
        (phys != 0).then_some(at)
    };
    let headers = pages(1)?.cast::<Header>();
    let mut all = [Memory {
        header: headers,
        data: NonNull::dangling(),
    }; REQUESTS];
    for (i, one) in all.iter_mut().enumerate() {
        let header = Header {
            asked: BlkReq::default(),
            answer: BlkResp::default(),
        };
        // SAFETY: a fresh page holds so many headers.
        one.header = unsafe { headers.add(i) };
        // SAFETY: as above.
        unsafe { one.header.write(header) };
        one.data = pages(DATA_PAGES)?;
    }
    Some(all)
}

impl<H: Hal, T: Transport> Disk<H, T> {
    /// Starts the device.
    ///
    /// # Errors
    /// [`Error::Unusable`]: it is none that this driver can talk to, or there is no memory for the requests.
    pub fn new(transport: T) -> Result<Self, Error> {
        let device = VirtIOBlk::<H, T>::new(transport).map_err(|error| {
            log::error!("disk: {error}");
            Error::Unusable("its start failed")
        })?;
        let memory = memory::<H>().ok_or(Error::Unusable(
            "there is no memory in a row for its buffers",
        ))?;
        Ok(Disk {
            sectors: device.capacity(),
            read_only: device.readonly(),
            queue: SpinLock::new(
                Rank::Leaf,
                Queue {
                    device,
                    slots: [FREE; REQUESTS],
                },
            ),
            memory,
            answered: [const { AtomicBool::new(false) }; REQUESTS],
            silent: AtomicBool::new(false),
            patience_ns: PATIENCE_NS,
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
        })
    }

    /// Its size in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How many requests it has answered well; a long read is several.
    pub fn requests(&self) -> Requests {
        Requests {
            reads: self.reads.load(Relaxed),
            writes: self.writes.load(Relaxed),
        }
    }

    /// Fills `buffer` from `sector` on. Each wait goes through `blocking`.
    ///
    /// # Errors
    /// The buffer is not whole sectors, they are not all on the disk, or the device fails; some of the buffer may be
    /// filled then.
    ///
    /// # Panics
    /// If more than [`REQUESTS`] reads and writes run at once: the caller counts.
    pub fn read(&self, sector: u64, buffer: &mut [u8], blocking: Blocking) -> Result<(), Error> {
        self.check(sector, buffer.len())?;
        let mut at = sector;
        for part in buffer.chunks_mut(DATA_BYTES) {
            let request = self.take();
            request.start(at, part.len(), false)?;
            request.wait(blocking)?;
            // SAFETY: `part` is no longer than the request's data, which is ours again.
            unsafe {
                request
                    .memory()
                    .data
                    .copy_to_nonoverlapping(NonNull::from(&mut *part).cast(), part.len())
            };
            self.reads.fetch_add(1, Relaxed);
            at += (part.len() / SECTOR_BYTES) as u64;
        }
        Ok(())
    }

    /// Writes `buffer` from `sector` on. Each wait goes through `blocking`.
    ///
    /// # Errors
    /// As [`read`](Disk::read), and [`Error::ReadOnly`]; some of it may be written then.
    ///
    /// # Panics
    /// As [`read`](Disk::read).
    pub fn write(&self, sector: u64, buffer: &[u8], blocking: Blocking) -> Result<(), Error> {
        self.check(sector, buffer.len())?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        let mut at = sector;
        for part in buffer.chunks(DATA_BYTES) {
            let request = self.take();
            // SAFETY: as in `read`.
            unsafe {
                request
                    .memory()
                    .data
                    .copy_from_nonoverlapping(NonNull::from(part).cast(), part.len())
            };
            request.start(at, part.len(), true)?;
            request.wait(blocking)?;
            self.writes.fetch_add(1, Relaxed);
            at += (part.len() / SECTOR_BYTES) as u64;
        }
        Ok(())
    }

    fn check(&self, sector: u64, bytes: usize) -> Result<(), Error> {
        if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(Error::NotSectors(bytes));
        }
        let count = (bytes / SECTOR_BYTES) as u64;
        // What the device is asked for is checked here, not there.
        if sector
            .checked_add(count)
            .is_none_or(|end| end > self.sectors)
        {
            return Err(Error::OutOfRange {
                sector,
                count,
                sectors: self.sectors,
            });
        }
        if self.silent.load(Relaxed) {
            return Err(Error::Silent);
        }
        Ok(())
    }

    fn take(&self) -> Request<'_, H, T> {
        let mut queue = self.queue.lock();
        let free = queue.slots.iter().position(|slot| !slot.taken);
        if let Some(index) = free {
            queue.slots[index].taken = true;
        }
        drop(queue);
        let index = free.expect("more requests at once than the disk has room for");
        Request { disk: self, index }
    }

    /// Polls until the request is answered, or the device is past hope. Occupies this CPU.
    fn poll(&self, index: usize) -> bool {
        let begin_ns = arch::now_ns();
        let mut looks = 0u32;
        // Acquire: pairs with the Release in `Queue::reap`.
        while !self.answered[index].load(Acquire) {
            // Whoever has the lock looks for all.
            if let Some(mut queue) = self.queue.try_lock() {
                queue.reap(&self.memory, &self.answered);
            }
            (0..PAUSES).for_each(|_| core::hint::spin_loop());
            looks = looks.saturating_add(1);
            if looks > PATIENCE_LOOKS && arch::now_ns() - begin_ns > self.patience_ns {
                return false;
            }
        }
        true
    }
}

impl<H: Hal, T: Transport> Queue<H, T> {
    /// Takes all answers that are there.
    fn reap(&mut self, memory: &[Memory; REQUESTS], answered: &[AtomicBool; REQUESTS]) {
        while let Some(token) = self.device.peek_used() {
            let at_device = self.slots.iter().position(|s| s.token == Some(token));
            // An answer that nobody asked for cannot be taken off the queue: the device is past hope.
            let Some(index) = at_device else { return };
            let slot = &mut self.slots[index];
            // SAFETY: the request's memory, which the device has just given back; the same parts as in `start`.
            let result = unsafe {
                let Memory { header, data } = memory[index];
                let Header { asked, answer } = &mut *header.as_ptr();
                let mut data = NonNull::slice_from_raw_parts(data, slot.bytes);
                if slot.write {
                    let device = &mut self.device;
                    device.complete_write_blocks(token, asked, data.as_ref(), answer)
                } else {
                    let device = &mut self.device;
                    device.complete_read_blocks(token, asked, data.as_mut(), answer)
                }
            };
            slot.token = None;
            slot.result = result.map_err(|_| Error::Failed);
            answered[index].store(true, Release); // pairs with the Acquire in `poll`
        }
    }
}

/// A request that its maker has taken and gives back.
struct Request<'a, H: Hal, T: Transport> {
    disk: &'a Disk<H, T>,
    index: usize,
}

impl<H: Hal, T: Transport> Request<'_, H, T> {
    fn memory(&self) -> Memory {
        self.disk.memory[self.index]
    }

    /// Hands it to the device.
    fn start(&self, sector: u64, bytes: usize, write: bool) -> Result<(), Error> {
        debug_assert!(bytes <= DATA_BYTES);
        // Relaxed: nobody else looks before the lock below is released.
        self.disk.answered[self.index].store(false, Relaxed);
        let Memory { header, data } = self.memory();
        let mut queue = self.disk.queue.lock();
        // SAFETY: the request's own memory, which is not touched from here on before `reap` has got it back.
        let token = unsafe {
            let Header { asked, answer } = &mut *header.as_ptr();
            let mut data = NonNull::slice_from_raw_parts(data, bytes);
            let device = &mut queue.device;
            if write {
                device.write_blocks_nb(sector as usize, asked, data.as_ref(), answer)
            } else {
                device.read_blocks_nb(sector as usize, asked, data.as_mut(), answer)
            }
        };
        queue.slots[self.index] = Slot {
            taken: true,
            token: token.ok(),
            write,
            bytes,
            result: Ok(()),
        };
        // No room in the queue, though it is as long as there are requests: the device broke it.
        token.map(|_| ()).map_err(|_| Error::Failed)
    }

    /// Waits for the answer.
    fn wait(&self, blocking: Blocking) -> Result<(), Error> {
        let mut answered = false;
        blocking(&mut || answered = self.disk.poll(self.index));
        if !answered {
            self.disk.silent.store(true, Relaxed);
            return Err(Error::Silent);
        }
        self.disk.queue.lock().slots[self.index].result
    }
}

impl<H: Hal, T: Transport> Drop for Request<'_, H, T> {
    fn drop(&mut self) {
        let mut queue = self.disk.queue.lock();
        // One that is still at the device stays taken: its memory is the device's.
        if queue.slots[self.index].token.is_none() {
            queue.slots[self.index].taken = false;
        }
    }
}
