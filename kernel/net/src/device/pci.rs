//! The device on PCI: where its registers lie, and where its interrupts go (virtio 1.2, 4.1).

use super::{Bell, Error, Memory, Page, QueueSetup, Transport};
use arch::bare::{self, PciAddress, PciSpace};
use core::ptr::NonNull;
use mem::{PAGE_BYTES, frames};
use pci_types::capability::{MsixCapability, PciCapability};
use pci_types::{Bar, ConfigRegionAccess, EndpointHeader, PciHeader};

const VIRTIO_VENDOR: u16 = 0x1af4;
/// Device numbers of a network card: one that could also be driven in the old way, and one that could not.
const CARDS: [u16; 2] = [0x1000, 0x1041];

/// Kinds of register blocks (virtio 1.2, 4.1.4).
const COMMON: u8 = 1;
const NOTIFY: u8 = 2;
const DEVICE: u8 = 4;

/// Registers of the common block, by their offsets (virtio 1.2, 4.1.4.3).
const DEVICE_FEATURE_SELECT: usize = 0;
const DEVICE_FEATURE: usize = 4;
const DRIVER_FEATURE_SELECT: usize = 8;
const DRIVER_FEATURE: usize = 12;
const DEVICE_STATUS: usize = 20;
const QUEUE_SELECT: usize = 22;
const QUEUE_SIZE: usize = 24;
const QUEUE_MSIX_VECTOR: usize = 26;
const QUEUE_ENABLE: usize = 28;
const QUEUE_NOTIFY_OFF: usize = 30;
const QUEUE_PARTS: [usize; 3] = [32, 40, 48];
const COMMON_BYTES: usize = 56;

/// This machine's memory. Devices see physical memory as it is.
pub struct Frames;

// SAFETY: frames are page-aligned and nobody else's; zeroed here, never freed; the direct map has all of them.
unsafe impl Memory for Frames {
    fn row(pages: usize) -> Option<Page> {
        let phys = match pages {
            1 => frames::alloc(),
            _ => frames::alloc_row(pages as u64),
        }?;
        let at = NonNull::new(bare::direct(phys))?;
        // SAFETY: just allocated.
        unsafe { at.write_bytes(0, pages * PAGE_BYTES) };
        Some(Page { phys, at })
    }
}

/// A block of registers.
#[derive(Clone, Copy)]
struct Registers {
    at: NonNull<u8>,
    bytes: usize,
}

impl Registers {
    /// The register at `offset`.
    ///
    /// # Panics
    /// If it is not in the block.
    fn register<T>(&self, offset: usize) -> *mut T {
        assert!(
            offset.is_multiple_of(size_of::<T>()) && offset + size_of::<T>() <= self.bytes,
            "register {offset} of a block of {} bytes",
            self.bytes
        );
        // SAFETY: inside of the block.
        unsafe { self.at.add(offset).cast().as_ptr() }
    }

    /// `bytes` of them from `offset` on.
    ///
    /// # Panics
    /// If they are not in the block.
    fn part(&self, offset: usize, bytes: usize) -> Registers {
        assert!(
            offset + bytes <= self.bytes,
            "{bytes} bytes of registers at {offset}"
        );
        // SAFETY: inside of the block.
        let at = unsafe { self.at.add(offset) };
        Registers { at, bytes }
    }

    fn read<T>(&self, offset: usize) -> T {
        // SAFETY: a register of our device.
        unsafe { self.register::<T>(offset).read_volatile() }
    }

    fn write<T>(&self, offset: usize, value: T) {
        // SAFETY: a register of our device.
        unsafe { self.register::<T>(offset).write_volatile(value) }
    }
}

/// The registers of a network card on PCI.
pub struct PciTransport {
    common: Registers,
    notify: Registers,
    notify_multiplier: usize,
    device: Registers,
    interrupts: Registers,
}

// SAFETY: registers answer on every CPU; who drives the device has the only `PciTransport`.
unsafe impl Send for PciTransport {}

/// Looks through PCI for the first network card. Once for each machine: a device has one driver.
///
/// # Errors
/// There is none, or one that lacks something.
pub fn find() -> Result<PciTransport, Error> {
    let space = PciSpace::find().ok_or(Error::NoDevice)?;
    let mut found = None;
    space.for_each_function(|f| {
        if f.vendor == VIRTIO_VENDOR && CARDS.contains(&f.device) {
            found = found.or(Some(f.address))
        }
    });
    let at = found.ok_or(Error::NoDevice)?;
    // SAFETY: nobody drives it yet, says the caller of this function.
    unsafe { space.enable(at) }.map_err(|error| {
        log::error!("network device at {at}: {error}");
        Error::Unusable("its registers have no addresses")
    })?;
    open(space, at)
}

fn open(space: PciSpace, at: PciAddress) -> Result<PciTransport, Error> {
    let lacks = Error::Unusable("it lacks registers");
    let endpoint = EndpointHeader::from_header(PciHeader::new(at), space).ok_or(lacks)?;
    let (mut common, mut notify, mut device, mut msix) = (None, None, None, None);
    for capability in endpoint.capabilities(&space) {
        match capability {
            PciCapability::Vendor(c) => {
                // SAFETY: inside of the capability.
                let word = |offset| unsafe { space.read(at, c.offset + offset) };
                let (kind, bar) = ((word(0) >> 24) as u8, word(4) as u8);
                let (offset, bytes) = (word(8), word(12));
                let block = || block(&space, &endpoint, bar, offset.into(), bytes as usize);
                match kind {
                    COMMON if common.is_none() => common = block(),
                    NOTIFY if notify.is_none() => notify = block().map(|b| (b, word(16) as usize)),
                    DEVICE if device.is_none() => device = block(),
                    _ => {}
                }
            }
            PciCapability::MsiX(c) => msix = Some(c),
            _ => {}
        }
    }
    let common = common
        .filter(|c: &Registers| c.bytes >= COMMON_BYTES)
        .ok_or(lacks)?;
    let (notify, notify_multiplier) = notify.ok_or(lacks)?;
    let interrupts = msix.and_then(|c| table(&space, &endpoint, c));
    Ok(PciTransport {
        common,
        notify,
        notify_multiplier,
        device: device.ok_or(lacks)?,
        interrupts: interrupts.ok_or(Error::Unusable("it has no MSI-X"))?,
    })
}

/// Registers at `offset` of one of the function's BARs.
fn block(
    space: &PciSpace,
    endpoint: &EndpointHeader,
    bar: u8,
    offset: u64,
    bytes: usize,
) -> Option<Registers> {
    let (base, size) = match endpoint.bar(bar, space)? {
        Bar::Memory32 { address, size, .. } => (u64::from(address), u64::from(size)),
        Bar::Memory64 { address, size, .. } => (address, size),
        Bar::Io { .. } => return None,
    };
    if base == 0 || offset.checked_add(bytes as u64)? > size {
        return None;
    }
    // SAFETY: a BAR of our device says that its registers lie there.
    let at = unsafe { bare::map_registers(base + offset, bytes, &mut frames::alloc) };
    Some(Registers {
        at: NonNull::new(at.ok()?)?,
        bytes,
    })
}

/// The table of interrupts, switched on, with each entry masked (PCI 3.0, 6.8.2).
fn table(
    space: &PciSpace,
    endpoint: &EndpointHeader,
    mut msix: MsixCapability,
) -> Option<Registers> {
    let bytes = 16 * usize::from(msix.table_size());
    let table = block(
        space,
        endpoint,
        msix.table_bar(),
        msix.table_offset().into(),
        bytes,
    )?;
    (0..bytes)
        .step_by(16)
        .for_each(|entry| table.write(entry + 12, 1u32));
    msix.set_function_mask(false, space);
    msix.set_enabled(true, space);
    Some(table)
}

impl PciTransport {
    /// From here on interrupt `entry` goes to a CPU, as `vector`. False: the device has no such one.
    pub fn route(&mut self, entry: u16, cpu: usize, vector: u8) -> bool {
        let at = 16 * usize::from(entry);
        let there = at + 16 <= self.interrupts.bytes;
        if there {
            let (address, data) = bare::msi_message(cpu, vector);
            self.interrupts.write(at + 12, 1u32);
            self.interrupts.write(at, address as u32);
            self.interrupts.write(at + 4, (address >> 32) as u32);
            self.interrupts.write(at + 8, data);
            self.interrupts.write(at + 12, 0u32)
        }
        there
    }
}

/// Where a queue's kicks go.
pub struct PciBell {
    at: Registers,
    queue: u16,
}

// SAFETY: a register that takes a write from any CPU.
unsafe impl Send for PciBell {}

impl Bell for PciBell {
    fn ring(&self) {
        self.at.write(0, self.queue)
    }
}

impl Transport for PciTransport {
    type Bell = PciBell;

    fn status(&self) -> u8 {
        self.common.read(DEVICE_STATUS)
    }

    fn set_status(&mut self, status: u8) {
        self.common.write(DEVICE_STATUS, status)
    }

    fn device_features(&mut self) -> u64 {
        let half = |i: u32| -> u64 {
            self.common.write(DEVICE_FEATURE_SELECT, i);
            self.common.read::<u32>(DEVICE_FEATURE).into()
        };
        half(0) | half(1) << 32
    }

    fn set_driver_features(&mut self, features: u64) {
        for (i, half) in [(0u32, features as u32), (1, (features >> 32) as u32)] {
            self.common.write(DRIVER_FEATURE_SELECT, i);
            self.common.write(DRIVER_FEATURE, half)
        }
    }

    fn queue_most(&mut self, queue: u16) -> u16 {
        self.common.write(QUEUE_SELECT, queue);
        self.common.read(QUEUE_SIZE)
    }

    fn start_queue(&mut self, queue: u16, setup: &QueueSetup) -> bool {
        self.common.write(QUEUE_SELECT, queue);
        self.common.write(QUEUE_SIZE, setup.size);
        for (at, part) in QUEUE_PARTS.into_iter().zip(setup.parts) {
            self.common.write(at, part as u32);
            self.common.write(at + 4, (part >> 32) as u32)
        }
        self.common.write(QUEUE_MSIX_VECTOR, setup.entry);
        // Another value means that it has none (4.1.5.1.2).
        let taken = self.common.read::<u16>(QUEUE_MSIX_VECTOR) == setup.entry;
        if taken {
            self.common.write(QUEUE_ENABLE, 1u16)
        }
        taken
    }

    fn bell(&mut self, queue: u16) -> PciBell {
        self.common.write(QUEUE_SELECT, queue);
        let offset =
            usize::from(self.common.read::<u16>(QUEUE_NOTIFY_OFF)) * self.notify_multiplier;
        PciBell {
            at: self.notify.part(offset, size_of::<u16>()),
            queue,
        }
    }

    fn config(&self, offset: usize, to: &mut [u8]) {
        for (i, byte) in to.iter_mut().enumerate() {
            *byte = self.device.read(offset + i)
        }
    }
}
