//! PCI Express by its memory-mapped configuration space. Nothing here runs before a driver asks: a machine without one
//! boots without looking.
//!
//! | board | configuration space | registers of devices (BARs) |
//! |---|---|---|
//! | q35 | where ACPI's table MCFG says | set by firmware, above 4 GiB too |
//! | microvm | 0xe0000000, where the host bridge 1b36:0008 shows that it is that board | all empty: given out here |

pub use super::pci_scan::{PciBars, PciError, PciFunction};
pub use pci_types::{ConfigRegionAccess, PciAddress};

use super::bare::{FrameSource, HEAP_BASE};
use super::lock::Lock;
use super::paging::{self, NoFrames, PageFlags, direct};
use super::pci_scan::{self, Window};
use super::{acpi, platform};
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Where ACPI's root pointer is, for a driver that asks later; 0: nowhere. Set by `init_platform`.
pub(super) static RSDP: AtomicU64 = AtomicU64::new(0);

/// QEMU's microvm names its configuration space in AML code only; it is a constant of that board.
const MICROVM_SPACE: u64 = 0xe000_0000;
/// Vendor and device of its host bridge, as register 0.
const MICROVM_BRIDGE: u32 = 0x0008_1b36;
/// What microvm's bridge passes on below 4 GiB.
static MICROVM_WINDOW: Lock<Window> = Lock::new(Window {
    next: 0xc000_0000,
    end: 0xe000_0000,
});

const GIB: u64 = 1 << 30;
/// Registers above the direct map: the last GiB of the heap's window, which the heap would reach with 511 GiB in use.
const FAR_BASE: u64 = HEAP_BASE + 511 * GIB;
/// The next address there that is not mapped.
static FAR: Lock<u64> = Lock::new(FAR_BASE);

/// The configuration space of this machine. All copies are the same one.
#[derive(Clone, Copy, Debug)]
pub struct PciSpace {
    /// Physical; bus 0.
    base: u64,
    last_bus: u8,
    /// Nobody but this kernel gives addresses to devices.
    assigns: bool,
}

impl PciSpace {
    /// Finds it. `None`: this machine has no PCI Express.
    pub fn find() -> Option<PciSpace> {
        let rsdp = RSDP.load(Relaxed);
        let told = (rsdp != 0).then(|| by_mcfg(rsdp)).flatten();
        told.or_else(|| {
            let space = PciSpace {
                base: MICROVM_SPACE,
                last_bus: 255,
                assigns: true,
            };
            // SAFETY: register 0 of a function can be read; where nothing lies, the machine answers with ones.
            let bridge = unsafe { space.read(PciAddress::new(0, 0, 0, 0), 0) };
            (bridge == MICROVM_BRIDGE).then_some(space)
        })
    }

    /// Calls `f` for each function of each device.
    pub fn for_each_function(&self, f: impl FnMut(PciFunction)) {
        pci_scan::for_each_function(self, f)
    }

    /// Gives the function's registers addresses where they have none, and lets it answer in memory and be bus master. Where they
    /// lie: a BAR is sized only while the function does not answer, so nobody has to look again.
    ///
    /// # Errors
    /// It has no addresses and there are none to give.
    ///
    /// # Safety
    /// The function is the caller's alone, and no part of it is in use.
    pub unsafe fn enable(&self, address: PciAddress) -> Result<PciBars, PciError> {
        if self.assigns {
            MICROVM_WINDOW.with(|window| pci_scan::enable(self, address, Some(window)))
        } else {
            pci_scan::enable(self, address, None)
        }
    }

    fn register(&self, address: PciAddress, offset: u16) -> Option<*mut u32> {
        let (bus, device) = (u64::from(address.bus()), u64::from(address.device()));
        let at = bus << 20 | device << 15 | u64::from(address.function()) << 12;
        let there = address.segment() == 0 && address.bus() <= self.last_bus && offset < 4096;
        there.then(|| direct(self.base + at + u64::from(offset & !3)).cast())
    }
}

/// ACPI table MCFG, PCI Firmware specification 3.0, 4.1.2. Its first entry, if it is for segment 0 and begins with bus 0.
fn by_mcfg(rsdp: u64) -> Option<PciSpace> {
    let (table, len) = acpi::find_table(&platform::read_physical, rsdp, b"MCFG")?;
    let mut entry = [0; 16];
    if len < 60 || !platform::read_physical(table + 44, &mut entry) {
        return None;
    }
    let [b0, b1, b2, b3, b4, b5, b6, b7, s0, s1, first, last, ..] = entry;
    let base = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
    let end = base.checked_add((u64::from(last) + 1) << 20)?;
    // The direct map has it only there.
    let usable = s0 == 0 && s1 == 0 && first == 0 && base != 0 && end <= 4 * GIB;
    usable.then_some(PciSpace {
        base,
        last_bus: last,
        assigns: false,
    })
}

impl ConfigRegionAccess for PciSpace {
    unsafe fn read(&self, address: PciAddress, offset: u16) -> u32 {
        // SAFETY: a register in the configuration space, which the direct map has, uncached.
        self.register(address, offset)
            .map_or(u32::MAX, |at| unsafe { at.read_volatile() })
    }

    unsafe fn write(&self, address: PciAddress, offset: u16, value: u32) {
        if let Some(at) = self.register(address, offset) {
            // SAFETY: as for `read`; what the register does is the caller's matter.
            unsafe { at.write_volatile(value) }
        }
    }
}

/// Where registers of a device can be reached: `bytes` from physical `phys`. For good; asked for again, far ones are
/// mapped again.
///
/// # Errors
/// They lie above 4 GiB, and a page table had to be allocated and could not.
///
/// # Safety
/// A BAR of the caller's device says that its registers lie there.
///
/// # Panics
/// If all far registers together take more than 1 GiB.
pub unsafe fn map_registers(
    phys: u64,
    bytes: usize,
    frames: FrameSource,
) -> Result<*mut u8, NoFrames> {
    let end = phys + bytes as u64;
    if end <= 4 * GIB {
        return Ok(direct(phys));
    }
    let (first, inside) = (phys & !4095, phys & 4095);
    let pages = (end - first).div_ceil(4096);
    let virt = FAR.with(|next| {
        let virt = *next;
        assert!(
            virt + pages * 4096 <= FAR_BASE + GIB,
            "no room to map {bytes} bytes of registers at {phys:#x}"
        );
        *next = virt + pages * 4096;
        virt
    });
    let flags = PageFlags {
        write: true,
        uncached: true,
    };
    // SAFETY: these addresses are handed out once; the registers are the caller's.
    unsafe { paging::map_pages(virt, first, pages as usize, flags, frames)? };
    Ok((virt + inside) as *mut u8)
}
