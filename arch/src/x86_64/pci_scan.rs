//! Which functions there are on PCI, and where their registers lie. PCI Local Bus specification 3.0, chapter 6.
//!
//! Portable: reaches configuration space through `pci_types`' trait, so that spaces made by hand test it on the host.

use pci_types::{
    Bar, ConfigRegionAccess, EndpointHeader, PciAddress, PciHeader, PciPciBridgeHeader,
};

/// A function of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciFunction {
    /// Bus, device, function.
    pub address: PciAddress,
    /// Who made it.
    pub vendor: u16,
    /// What its maker calls it.
    pub device: u16,
    /// Base class and sub-class, as `0x0100` for a disk controller.
    pub class: u16,
}

/// Register 0 where nobody answers.
const NOBODY: u16 = 0xffff;
const COMMAND: u16 = 0x04;
/// Command register: I/O ports, memory, bus master, no legacy interrupt.
const IO: u32 = 1;
const MEMORY: u32 = 2;
const BUS_MASTER: u32 = 4;
const NO_INTX: u32 = 1 << 10;

/// Calls `f` for each function that answers, on the first bus and behind the bridges that firmware has set up.
pub fn for_each_function(space: &impl ConfigRegionAccess, mut f: impl FnMut(PciFunction)) {
    // Buses to look at and buses seen; a bridge that leads back is not followed.
    let (mut todo, mut seen) = ([1u64, 0, 0, 0], [0u64; 4]);
    while let Some(word) = todo.iter().position(|w| *w != 0) {
        let bit = todo[word].trailing_zeros();
        todo[word] &= todo[word] - 1;
        seen[word] |= 1 << bit;
        scan_bus(space, (word * 64) as u8 + bit as u8, &mut f, |behind| {
            let (word, bit) = (usize::from(behind) / 64, 1 << (behind % 64));
            if seen[word] & bit == 0 {
                todo[word] |= bit;
            }
        });
    }
}

fn scan_bus(
    space: &impl ConfigRegionAccess,
    bus: u8,
    f: &mut impl FnMut(PciFunction),
    mut bridge_to: impl FnMut(u8),
) {
    for device in 0..32 {
        for function in 0..8 {
            let address = PciAddress::new(0, bus, device, function);
            let header = PciHeader::new(address);
            let (vendor, id) = header.id(space);
            if vendor == NOBODY && function == 0 {
                break;
            }
            if vendor == NOBODY {
                continue;
            }
            let (_, base, sub, _) = header.revision_and_class(space);
            let many = header.has_multiple_functions(space);
            f(PciFunction {
                address,
                vendor,
                device: id,
                class: u16::from(base) << 8 | u16::from(sub),
            });
            if let Some(bridge) = PciPciBridgeHeader::from_header(header, space) {
                // Bus 0 behind a bridge: nobody has set it up.
                Some(bridge.secondary_bus_number(space))
                    .filter(|behind| *behind != 0)
                    .into_iter()
                    .for_each(&mut bridge_to);
            }
            if function == 0 && !many {
                break;
            }
        }
    }
}

/// Why a function cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PciError {
    /// A bridge, or a header of unknown form.
    NoEndpoint,
    /// Firmware gave this BAR no address and there is no window to take one from.
    NoAddress(u8),
    /// The window is used up.
    WindowFull,
}

impl core::fmt::Display for PciError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoEndpoint => f.write_str("it is no PCI endpoint"),
            Self::NoAddress(bar) => write!(f, "the firmware has given its BAR {bar} no address"),
            Self::WindowFull => f.write_str("there are no addresses left for its registers"),
        }
    }
}

impl core::error::Error for PciError {}

/// Physical addresses that BARs may be given, `next` upwards to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub next: u64,
    pub end: u64,
}

impl Window {
    fn take(&mut self, size: u64) -> Option<u64> {
        // A BAR lies at a multiple of its size, a power of two. Page by page: nobody else's registers share a page.
        let at = self.next.checked_next_multiple_of(size.max(4096))?;
        let next = at.checked_add(size.max(4096))?;
        (next <= self.end).then(|| {
            self.next = next;
            at
        })
    }
}

/// Where the memory BARs of a function lie, and how many bytes each has; the rest are None.
pub type PciBars = [Option<(u64, u64)>; 6];

/// Gives every memory BAR of a function an address, from `window` where firmware has set none, and lets it answer in
/// memory. I/O ports are switched off, legacy interrupts too: they are level-triggered.
pub fn settle(
    space: &impl ConfigRegionAccess,
    address: PciAddress,
    window: Option<&mut Window>,
) -> Result<PciBars, PciError> {
    let endpoint =
        EndpointHeader::from_header(PciHeader::new(address), space).ok_or(PciError::NoEndpoint)?;
    // A BAR that is being sized answers at a wrong place.
    set_command(space, address, IO | MEMORY | NO_INTX, 0);
    let bars = assign_bars(space, endpoint, window)?;
    set_command(space, address, 0, MEMORY | NO_INTX);
    Ok(bars)
}

/// Lets a function read and write memory by itself. What answers at which address stays.
pub fn enable(space: &impl ConfigRegionAccess, address: PciAddress) {
    set_command(space, address, 0, BUS_MASTER)
}

/// Would an endpoint answer elsewhere if `value` were written to its register at `offset`, which reads as `old`?
pub fn moves(offset: u16, old: u32, value: u32) -> bool {
    match offset {
        COMMAND => (old ^ value) & (IO | MEMORY) != 0,
        // BARs, and the one of the expansion ROM.
        0x10..0x28 | 0x30..0x34 => true,
        _ => false,
    }
}

fn set_command(space: &impl ConfigRegionAccess, address: PciAddress, clear: u32, set: u32) {
    // SAFETY: every function has this register. Zeroes in its upper half, the status, change nothing there.
    unsafe {
        let old = space.read(address, COMMAND) & 0xffff;
        space.write(address, COMMAND, old & !clear | set);
    }
}

fn assign_bars(
    space: &impl ConfigRegionAccess,
    mut endpoint: EndpointHeader,
    mut window: Option<&mut Window>,
) -> Result<PciBars, PciError> {
    let address = endpoint.header().address();
    let mut bars = [None; 6];
    let mut slot = 0;
    while slot < 6 {
        // SAFETY: an endpoint has six BARs here.
        let low = unsafe { space.read(address, 0x10 + 4 * u16::from(slot)) };
        // Kinds 1 (below 1 MiB) and 3 are not to be used any more; `pci_types` does not take them.
        let known = low & 1 != 0 || matches!(low >> 1 & 3, 0 | 2);
        let bar = known.then(|| endpoint.bar(slot, space)).flatten();
        let (at, size, slots) = match bar {
            Some(Bar::Memory32 { address, size, .. }) => (u64::from(address), u64::from(size), 1),
            Some(Bar::Memory64 { address, size, .. }) => (address, size, 2),
            Some(Bar::Io { .. }) | None => (u64::MAX, 0, 1),
        };
        let mut at = at;
        if at == 0 {
            let window = window.as_deref_mut().ok_or(PciError::NoAddress(slot))?;
            at = window.take(size).ok_or(PciError::WindowFull)?;
            // SAFETY: its decoding is off, and the window is for BARs.
            unsafe { endpoint.write_bar(slot, space, at as usize) }
                .map_err(|_| PciError::NoAddress(slot))?;
        }
        bars[usize::from(slot)] = (size != 0).then_some((at, size));
        slot += slots;
    }
    Ok(bars)
}

#[cfg(all(test, not(ringo_kernel)))]
#[path = "pci_scan_tests.rs"]
mod tests;
