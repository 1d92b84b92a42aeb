//! How a driver reaches the registers of its device (virtio 1.2, 4.1.4.3), and the bits of its status (2.1).

/// We have seen it.
pub(super) const ACKNOWLEDGE: u8 = 1;
/// We know how to drive it.
pub(super) const DRIVER: u8 = 2;
/// We are done and drive it.
pub(super) const DRIVER_OK: u8 = 4;
/// The features are agreed on.
pub(super) const FEATURES_OK: u8 = 8;
/// We have given up on it.
pub(super) const FAILED: u8 = 128;

/// Where a queue lies, and how it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSetup {
    /// Descriptors.
    pub size: u16,
    /// Descriptor table, available ring, used ring: physical addresses.
    pub parts: [u64; 3],
    /// Entry of the table of interrupts.
    pub entry: u16,
}

/// Tells the device of one queue that there is something in it.
pub trait Bell: Clone {
    /// A kick.
    fn ring(&self);
}

/// The registers.
pub trait Transport {
    /// Rings for a queue.
    type Bell: Bell;
    /// The device's status.
    fn status(&self) -> u8;
    /// Sets it; 0 resets the device.
    fn set_status(&mut self, status: u8);
    /// What the device offers.
    fn device_features(&mut self) -> u64;
    /// What we take of it.
    fn set_driver_features(&mut self, features: u64);
    /// The most descriptors that a queue may have; 0: there is no such queue.
    fn queue_most(&mut self, queue: u16) -> u16;
    /// Interrupts that it has.
    fn interrupts(&self) -> u16;
    /// Starts a queue. False: the device has no interrupt for it.
    ///
    /// # Safety
    /// The three parts are a ring that belongs to this queue alone and is never freed: the device writes there.
    unsafe fn start_queue(&mut self, queue: u16, setup: &QueueSetup) -> bool;
    /// The bell of a queue. None: the device says that it lies where none can.
    fn bell(&mut self, queue: u16) -> Option<Self::Bell>;
    /// Bytes of the device's own configuration. False: it is shorter.
    fn config(&self, offset: usize, to: &mut [u8]) -> bool;
}
