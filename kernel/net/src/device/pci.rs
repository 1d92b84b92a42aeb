//! The device on PCI: where its registers lie, and where its interrupts go (virtio 1.2, 4.1).

use super::registers::Registers;
use super::{Bell, Error, QueueSetup, Transport};
use arch::bare::{self, PciAddress, PciBars, PciSpace};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use pci_types::capability::{MsixCapability, PciCapability};
use pci_types::{ConfigRegionAccess, EndpointHeader, PciHeader};

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
/// Bytes of an entry of the table of interrupts.
const ENTRY_BYTES: usize = 16;
/// Capabilities that a function has room for: a list that goes on bites its own tail.
const CAPABILITIES_MOST: usize = 48;

/// The registers of a network card on PCI.
pub struct PciTransport {
    common: Registers,
    notify: Registers,
    notify_multiplier: usize,
    device: Registers,
    interrupts: Registers,
}

/// The runner looks for this symbol: a program that has it gets a card.
// SAFETY: nobody else uses the name.
#[unsafe(no_mangle)]
static RINGO_NET: u8 = 1;

/// The card has its driver.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Looks through PCI for the first network card; it is the caller's from here on. A program that has this function in it is
/// given a card by the runner, so start-up code that every program has must not call it.
///
/// # Errors
/// There is none, or one that lacks something, or it is somebody's already.
pub fn find() -> Result<PciTransport, Error> {
    // SAFETY: a static of ours. A read that the compiler may not leave out keeps the symbol in the program.
    unsafe { (&raw const RINGO_NET).read_volatile() };
    let space = PciSpace::find().ok_or(Error::NoDevice)?;
    let mut found = None;
    space.for_each_function(|f| {
        if f.vendor == VIRTIO_VENDOR && CARDS.contains(&f.device) {
            found = found.or(Some(f.address))
        }
    });
    let at = found.ok_or(Error::NoDevice)?;
    if TAKEN.swap(true, Relaxed) {
        return Err(Error::Unusable("it has a driver already"));
    }
    // SAFETY: nobody else drives it: `TAKEN`.
    let bars = unsafe { space.enable(at) }.map_err(|error| {
        log::error!("network device at {at}: {error}");
        Error::Unusable("its registers have no addresses")
    })?;
    // SAFETY: as above.
    unsafe { open(space, at, &bars) }
}

/// # Safety
/// The device is the caller's alone.
unsafe fn open(space: PciSpace, at: PciAddress, bars: &PciBars) -> Result<PciTransport, Error> {
    let lacks = Error::Unusable("it lacks registers");
    let endpoint = EndpointHeader::from_header(PciHeader::new(at), space).ok_or(lacks)?;
    // SAFETY: I-REGISTERS, by the caller's promise.
    let block = |bar, offset, bytes| unsafe { Registers::map(bars, bar, offset, bytes) };
    let (mut common, mut notify, mut device, mut interrupts) = (None, None, None, None);
    for capability in endpoint.capabilities(space).take(CAPABILITIES_MOST) {
        match capability {
            PciCapability::Vendor(c) => {
                // SAFETY: inside of the capability; reading does nothing else.
                let word = |offset| unsafe { space.read(at, c.offset + offset) };
                let (kind, bar) = ((word(0) >> 24) as u8, word(4) as u8);
                let block = || block(bar, word(8).into(), word(12) as usize);
                match kind {
                    COMMON if common.is_none() => common = block(),
                    NOTIFY if notify.is_none() => notify = block().map(|b| (b, word(16) as usize)),
                    DEVICE if device.is_none() => device = block(),
                    _ => {}
                }
            }
            PciCapability::MsiX(c) => {
                let bytes = ENTRY_BYTES * usize::from(c.table_size());
                let table = block(c.table_bar(), c.table_offset().into(), bytes);
                interrupts = table.inspect(|table| switch_on(space, c, table))
            }
            _ => {}
        }
    }
    let (notify, notify_multiplier) = notify.ok_or(lacks)?;
    Ok(PciTransport {
        common: common
            .filter(|c: &Registers| c.bytes() >= COMMON_BYTES)
            .ok_or(lacks)?,
        notify,
        notify_multiplier,
        device: device.ok_or(lacks)?,
        interrupts: interrupts.ok_or(Error::Unusable("it has no MSI-X"))?,
    })
}

/// Interrupts by messages, each entry of the table masked (PCI 3.0, 6.8.2).
fn switch_on(space: PciSpace, mut msix: MsixCapability, table: &Registers) {
    for entry in (0..table.bytes()).step_by(ENTRY_BYTES) {
        table.write(entry + 12, 1u32)
    }
    msix.set_function_mask(false, space);
    msix.set_enabled(true, space)
}

impl PciTransport {
    /// From here on interrupt `entry` goes to a CPU, as `vector`. False: the device has no such one.
    ///
    /// # Panics
    /// If the vector is none of those for devices, or there is no such CPU.
    pub fn route(&mut self, entry: u16, cpu: usize, vector: u8) -> bool {
        assert!(
            (bare::VECTOR_DEVICE_FIRST..=bare::VECTOR_DEVICE_LAST).contains(&vector),
            "vector {vector:#x} is not for devices"
        );
        let at = ENTRY_BYTES * usize::from(entry);
        let there = at + ENTRY_BYTES <= self.interrupts.bytes();
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
#[derive(Clone, Copy)]
pub struct PciBell {
    at: Registers,
    queue: u16,
}

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

    fn interrupts(&self) -> u16 {
        (self.interrupts.bytes() / ENTRY_BYTES) as u16
    }

    unsafe fn start_queue(&mut self, queue: u16, setup: &QueueSetup) -> bool {
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

    fn bell(&mut self, queue: u16) -> Option<PciBell> {
        self.common.write(QUEUE_SELECT, queue);
        let offset =
            usize::from(self.common.read::<u16>(QUEUE_NOTIFY_OFF)) * self.notify_multiplier;
        let at = self.notify.one::<u16>(offset)?;
        Some(PciBell { at, queue })
    }

    fn config(&self, offset: usize, to: &mut [u8]) -> bool {
        let there = offset + to.len() <= self.device.bytes();
        if there {
            for (i, byte) in to.iter_mut().enumerate() {
                *byte = self.device.read(offset + i)
            }
        }
        there
    }
}
