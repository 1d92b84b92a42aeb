//! A device made by hand: the other end of the queue, in this process. What Virtual I/O Device specification 1.2 says in
//! 2.7 (split virtqueues) and 5.2 (block device).

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};
use virtio_drivers::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport};
use virtio_drivers::{BufferDirection, Error, Hal, PAGE_SIZE, PhysAddr};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Entries of the queue.
const ENTRIES: u16 = 16;
const DATA_IS_DEVICES: u16 = 2;
const NEXT: u16 = 1;
/// Feature bits.
const READ_ONLY: u64 = 1 << 5;
const EVENT_INDEX: u64 = 1 << 29;
const VERSION_1: u64 = 1 << 32;

/// Addresses are the process's own.
pub struct Here;

fn layout(pages: usize) -> Layout {
    Layout::from_size_align(pages * PAGE_SIZE, PAGE_SIZE).unwrap()
}

// SAFETY: the allocator gives what the trait asks for.
unsafe impl Hal for Here {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        // SAFETY: of some size.
        let at = NonNull::new(unsafe { alloc_zeroed(layout(pages)) }).unwrap();
        (at.as_ptr() as u64, at)
    }
    unsafe fn dma_dealloc(_: PhysAddr, at: NonNull<u8>, pages: usize) -> i32 {
        // SAFETY: from above.
        unsafe { dealloc(at.as_ptr(), layout(pages)) };
        0
    }
    unsafe fn mmio_phys_to_virt(phys: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(phys as *mut u8).unwrap()
    }
    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr() as u64
    }
    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// When and how the device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    AtOnce,
    /// When [`Device::answer_held`] is called.
    Held,
    Failing,
    /// Under the name of a request that nobody made.
    WrongName,
}

/// A request as the device has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub write: bool,
    pub sector: u64,
    pub bytes: usize,
}

pub struct State {
    pub data: Vec<u8>,
    pub answers: Answers,
    pub seen: Vec<Seen>,
    pub held: Vec<u16>,
    pub queue_max: u32,
    pub config_bytes: usize,
    pub features: u64,
    status: DeviceStatus,
    descriptors: u64,
    driver: u64,
    device: u64,
    taken: u16,
    used: u16,
}

/// The device; a clone is the same one.
#[derive(Clone)]
pub struct Device(Arc<Mutex<State>>);

impl Device {
    /// One whose sectors consist of their numbers.
    pub fn new(sectors: u64) -> Device {
        let words = (0..sectors).flat_map(|sector| [sector.to_le_bytes(); 64]);
        Device(Arc::new(Mutex::new(State {
            data: words.flatten().collect(),
            answers: Answers::AtOnce,
            seen: vec![],
            held: vec![],
            queue_max: 256,
            config_bytes: 64,
            features: VERSION_1 | EVENT_INDEX,
            status: DeviceStatus::empty(),
            descriptors: 0,
            driver: 0,
            device: 0,
            taken: 0,
            used: 0,
        })))
    }
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
    pub fn read_only(self) -> Device {
        self.state().features |= READ_ONLY;
        self
    }
    pub fn without_event_index(self) -> Device {
        self.state().features &= !EVENT_INDEX;
        self
    }
    /// Answers what it has held back, the last first.
    pub fn answer_held(&self) {
        let mut state = self.state();
        while let Some(head) = state.held.pop() {
            state.serve(head);
        }
    }
}

/// A word of the queue.
///
/// # Safety
/// It lies in the queue that the driver has set up.
unsafe fn word<T>(at: u64, offset: u64) -> *mut T {
    (at + offset) as *mut T
}

impl State {
    fn take_all(&mut self) {
        // SAFETY: the queue's memory, which lives as long as the driver; volatile, since two threads look at it.
        unsafe {
            while self.taken != word::<u16>(self.driver, 2).read_volatile() {
                let slot = u64::from(self.taken % ENTRIES);
                let head = word::<u16>(self.driver, 4 + 2 * slot).read_volatile();
                self.taken = self.taken.wrapping_add(1);
                word::<u16>(self.device, 4 + 8 * u64::from(ENTRIES)).write_volatile(self.taken);
                if self.answers == Answers::Held {
                    self.held.push(head);
                } else {
                    self.serve(head);
                }
            }
        }
    }

    /// Does what the chain of three descriptors says.
    fn serve(&mut self, head: u16) {
        let part = |index: u16| {
            let at = 16 * u64::from(index);
            // SAFETY: as in `take_all`.
            unsafe {
                (
                    word::<u64>(self.descriptors, at).read_volatile(),
                    word::<u32>(self.descriptors, at + 8).read_volatile() as usize,
                    word::<u16>(self.descriptors, at + 12).read_volatile(),
                    word::<u16>(self.descriptors, at + 14).read_volatile(),
                )
            }
        };
        let (header, header_bytes, flags, next) = part(head);
        assert_eq!((header_bytes, flags), (16, NEXT));
        let (data, bytes, flags, next) = part(next);
        let (status, status_bytes, last, _) = part(next);
        assert_eq!((status_bytes, last), (1, DATA_IS_DEVICES));
        // SAFETY: as in `take_all`; the driver does not touch its buffers now.
        unsafe {
            let write = (header as *const u32).read() == 1;
            let sector = word::<u64>(header, 8).read();
            assert_eq!(flags & DATA_IS_DEVICES == 0, write);
            let from = sector as usize * 512;
            let here = &mut self.data[from..from + bytes];
            let there = std::slice::from_raw_parts_mut(data as *mut u8, bytes);
            let failing = self.answers == Answers::Failing;
            if write {
                here.copy_from_slice(there);
            } else if !failing {
                there.copy_from_slice(here);
            }
            (status as *mut u8).write(u8::from(failing));
            self.seen.push(Seen {
                write,
                sector,
                bytes,
            });
            self.answer(head, bytes as u32);
        }
    }

    /// # Safety
    /// There is a queue.
    unsafe fn answer(&mut self, head: u16, bytes: u32) {
        let name = if self.answers == Answers::WrongName {
            15 - u32::from(head)
        } else {
            head.into()
        };
        let at = 4 + 8 * u64::from(self.used % ENTRIES);
        self.used = self.used.wrapping_add(1);
        // SAFETY: the caller's. The count comes last.
        unsafe {
            word::<[u32; 2]>(self.device, at).write_volatile([name, bytes]);
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
            word::<u16>(self.device, 2).write_volatile(self.used);
        }
    }
}

impl Transport for Device {
    fn device_type(&self) -> DeviceType {
        DeviceType::Block
    }
    fn read_device_features(&mut self) -> u64 {
        self.state().features
    }
    fn write_driver_features(&mut self, features: u64) {
        assert_eq!(features & !self.state().features, 0);
    }
    fn max_queue_size(&mut self, _: u16) -> u32 {
        self.state().queue_max
    }
    fn notify(&mut self, _: u16) {
        self.state().take_all()
    }
    fn get_status(&self) -> DeviceStatus {
        self.state().status
    }
    fn set_status(&mut self, status: DeviceStatus) {
        self.state().status = status
    }
    fn set_guest_page_size(&mut self, _: u32) {}
    fn requires_legacy_layout(&self) -> bool {
        false
    }
    fn queue_set(&mut self, _: u16, _: u32, descriptors: u64, driver: u64, device: u64) {
        let mut state = self.state();
        (state.descriptors, state.driver, state.device) = (descriptors, driver, device);
    }
    fn queue_unset(&mut self, _: u16) {}
    fn queue_used(&mut self, _: u16) -> bool {
        self.state().descriptors != 0
    }
    fn ack_interrupt(&mut self) -> InterruptStatus {
        InterruptStatus::empty()
    }
    fn read_config_generation(&self) -> u32 {
        0
    }
    fn read_config_space<T: FromBytes + IntoBytes>(&self, offset: usize) -> Result<T, Error> {
        let state = self.state();
        let mut config = [0; 64];
        config[..8].copy_from_slice(&(state.data.len() as u64 / 512).to_le_bytes());
        let there = config[..state.config_bytes].get(offset..).unwrap_or(&[]);
        T::read_from_prefix(there)
            .map(|(value, _)| value)
            .map_err(|_| Error::ConfigSpaceTooSmall)
    }
    fn write_config_space<T: IntoBytes + Immutable>(
        &mut self,
        _: usize,
        _: T,
    ) -> Result<(), Error> {
        Err(Error::Unsupported)
    }
}
