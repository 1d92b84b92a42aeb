//! PCI Express by its memory-mapped configuration space.
//!
//! | board | configuration space | registers of devices (BARs) |
//! |---|---|---|
//! | q35 | where ACPI's table MCFG says | set by firmware, above 4 GiB too |
//! | microvm | 0xe0000000, where the host bridge 1b36:0008 shows that it is that board | all empty: given out here |
//!
//! **I-SETTLED** What answers at which address changes only while CPU 0 is alone, in [`survey`]; to be bus master is all that a
//! driver may still ask for, and a write of more panics. QEMU before 8.2, where it translates (TCG), tells each CPU of such a change later than the map
//! of all of them changes: a CPU that writes to its local APIC in between hits another device.

pub use super::pci_scan::{PciBars, PciError, PciFunction};
pub use pci_types::{ConfigRegionAccess, PciAddress};

use super::bare::{FrameSource, HEAP_BASE};
use super::lock::Lock;
use super::paging::{self, NoFrames, PageFlags, direct};
use super::pci_scan::{self, Window};
use super::{acpi, platform};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// QEMU's microvm names its configuration space in AML code only; it is a constant of that board.
const MICROVM_SPACE: u64 = 0xe000_0000;
/// Vendor and device of its host bridge, as register 0.
const MICROVM_BRIDGE: u32 = 0x0008_1b36;
/// What microvm's bridge passes on below 4 GiB.
const MICROVM_WINDOW: Window = Window {
    next: 0xc000_0000,
    end: 0xe000_0000,
};

/// Functions that are known; a machine with more loses the last ones, and says so.
const FUNCTIONS_MOST: usize = 64;
/// Base class of bridges, which stay as firmware has left them.
const BRIDGE: u16 = 0x06;

/// A function, and what came of settling it.
type Settled = (PciFunction, Result<PciBars, PciError>);

/// All that answered when the machine started.
struct Survey {
    space: Option<PciSpace>,
    functions: [Option<Settled>; FUNCTIONS_MOST],
}

static SURVEY: Lock<Survey> = Lock::new(Survey {
    space: None,
    functions: [None; FUNCTIONS_MOST],
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
}

impl PciSpace {
    /// The one of this machine. `None`: it has no PCI Express.
    pub fn find() -> Option<PciSpace> {
        SURVEY.with(|s| s.space)
    }

    /// Calls `f` for each function of each device that was there when the machine started.
    pub fn for_each_function(&self, mut f: impl FnMut(PciFunction)) {
        known().for_each(|(function, _)| f(function))
    }

    /// Where the function's registers lie; it may read and write memory from here on.
    ///
    /// # Errors
    /// There is no such function, or it has no addresses and there were none to give.
    ///
    /// # Safety
    /// The function is the caller's alone, and no part of it is in use.
    pub unsafe fn enable(&self, address: PciAddress) -> Result<PciBars, PciError> {
        let (_, bars) = known()
            .find(|(f, _)| f.address == address)
            .ok_or(PciError::NoEndpoint)?;
        bars.inspect(|_| pci_scan::enable(self, address))
    }

    fn register(&self, address: PciAddress, offset: u16) -> Option<*mut u32> {
        let (bus, device) = (u64::from(address.bus()), u64::from(address.device()));
        let at = bus << 20 | device << 15 | u64::from(address.function()) << 12;
        let there = address.segment() == 0 && address.bus() <= self.last_bus && offset < 4096;
        there.then(|| direct(self.base + at + u64::from(offset & !3)).cast())
    }
}

fn known() -> impl Iterator<Item = Settled> {
    (0..FUNCTIONS_MOST).map_while(|i| SURVEY.with(|s| s.functions[i]))
}

/// [`survey`] is over.
static SETTLED: AtomicBool = AtomicBool::new(false);

/// Finds every function and settles its registers (I-SETTLED).
///
/// # Safety
/// Once, on CPU 0, before the other CPUs are started. `rsdp` is what the loader said.
pub(super) unsafe fn survey(rsdp: Option<u64>) {
    let microvm = PciSpace {
        base: MICROVM_SPACE,
        last_bus: 255,
    };
    // SAFETY: register 0 of a function can be read; where nothing lies, the machine answers with ones.
    let bridge = || unsafe { microvm.read(PciAddress::new(0, 0, 0, 0), 0) };
    let (space, mut window) = match rsdp.and_then(by_mcfg) {
        Some(space) => (space, None),
        None if bridge() == MICROVM_BRIDGE => (microvm, Some(MICROVM_WINDOW)),
        None => return,
    };
    let (mut n, mut left_out) = (0, 0);
    SURVEY.with(|survey| {
        survey.space = Some(space);
        pci_scan::for_each_function(&space, |f| {
            let Some(slot) = survey.functions.get_mut(n) else {
                left_out += 1;
                return;
            };
            *slot = Some((f, settle(&space, &f, window.as_mut())));
            n += 1
        })
    });
    SETTLED.store(true, Relaxed); // the other CPUs come later
    if left_out > 0 {
        platform::say(format_args!(
            "{FUNCTIONS_MOST} functions on PCI are the most that are known here; {left_out} more are left alone"
        ))
    }
}

fn settle(
    space: &PciSpace,
    f: &PciFunction,
    window: Option<&mut Window>,
) -> Result<PciBars, PciError> {
    if f.class >> 8 == BRIDGE {
        return Err(PciError::NoEndpoint);
    }
    pci_scan::settle(space, f.address, window)
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
    })
}

impl ConfigRegionAccess for PciSpace {
    unsafe fn read(&self, address: PciAddress, offset: u16) -> u32 {
        // SAFETY: a register in the configuration space, which the direct map has, uncached.
        self.register(address, offset)
            .map_or(u32::MAX, |at| unsafe { at.read_volatile() })
    }

    unsafe fn write(&self, address: PciAddress, offset: u16, value: u32) {
        let Some(at) = self.register(address, offset) else {
            return;
        };
        // SAFETY: as for `read`.
        let moves = || pci_scan::moves(offset, unsafe { at.read_volatile() }, value);
        assert!(
            !SETTLED.load(Relaxed) || !moves(),
            "PCI {address}: register {offset:#x} = {value:#x} would change what answers where (I-SETTLED)"
        );
        // SAFETY: as for `read`; what the register does is the caller's matter.
        unsafe { at.write_volatile(value) }
    }
}

/// Where registers of a device can be reached: `bytes` from physical `phys`. For good; asked for again, far ones are
/// mapped again.
///
/// # Errors
/// They lie above 4 GiB, and a page table had to be allocated and could not, or all far registers together would take more than
/// 1 GiB.
///
/// # Safety
/// A BAR of the caller's device says that its registers lie there.
pub unsafe fn map_registers(
    phys: u64,
    bytes: usize,
    frames: FrameSource,
) -> Result<*mut u8, NoFrames> {
    let end = phys.saturating_add(bytes as u64);
    if end <= 4 * GIB {
        return Ok(direct(phys));
    }
    let (first, inside) = (phys & !4095, phys & 4095);
    let pages = (end - first).div_ceil(4096);
    let room = FAR.with(|next| {
        let virt = *next;
        let end = virt.checked_add(pages.checked_mul(4096)?)?;
        (end <= FAR_BASE + GIB).then(|| {
            *next = end;
            virt
        })
    });
    let virt = room.ok_or(NoFrames)?;
    let flags = PageFlags {
        write: true,
        uncached: true,
    };
    // SAFETY: these addresses are handed out once; the registers are the caller's.
    unsafe { paging::map_pages(virt, first, pages as usize, flags, frames)? };
    Ok((virt + inside) as *mut u8)
}
