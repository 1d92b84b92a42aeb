//! What machine this is: its CPUs by ACPI, its clocks by measurement.

use super::bare::{DIRECT_BASE, FrameSource, HEAP_BASE, Platform};
use super::paging::{self, KERNEL_CR3, NoFrames, direct};
use super::{acpi, apic, calibrate, kstack, pci, smp, timer, tsc};
use crate::MAX_CPUS;
use core::sync::atomic::Ordering::*;

/// End of what the direct map's window could hold: addresses in a broken table may lie anywhere.
const DIRECT_MAX: u64 = HEAP_BASE - DIRECT_BASE;

pub fn read_physical(at: u64, into: &mut [u8]) -> bool {
    let end = at.saturating_add(into.len() as u64);
    if end > DIRECT_MAX
        || !paging::readable(direct(at) as u64)
        || !paging::readable(direct(end) as u64 - 1)
    {
        return false;
    }
    // SAFETY: both ends are mapped, and what lies between is shorter than a page.
    unsafe { core::ptr::copy_nonoverlapping(direct(at), into.as_mut_ptr(), into.len()) };
    true
}

/// Finds the CPUs and what is on PCI, switches this one's local APIC on, measures the clocks, and backs the stacks of all CPUs found.
///
/// # Errors
/// A sentence for the person at the console: no clock can be trusted, or there is not enough memory for the stacks.
///
/// # Safety
/// Once, on the first CPU, after `init_paging`. `rsdp` is what the loader said.
pub unsafe fn init_platform(
    rsdp: Option<u64>,
    frames: FrameSource,
) -> Result<Platform, &'static str> {
    let me = apic::id();
    let (mut too_many, mut first_left_out) = (0, 0);
    let add = |id: u32| {
        if id != me && !smp::add(id) {
            first_left_out = if too_many == 0 { id } else { first_left_out };
            too_many += 1;
        }
    };
    let madt = rsdp.is_some_and(|rsdp| acpi::cpus(&read_physical, rsdp, add));
    if !madt {
        say(format_args!(
            "no ACPI table names the CPUs of this machine; going on with one"
        ));
    }
    let found = smp::found();
    if too_many > 0 {
        say(format_args!(
            "{} CPUs found, {MAX_CPUS} is the most that run here; {too_many} stay parked (the first has APIC id {first_left_out})",
            found + too_many
        ));
    }
    // SAFETY: interrupts are off, the registers are mapped uncached by the direct map.
    unsafe { apic::enable() };
    let clocks = calibrate::calibrate(rsdp.and_then(|rsdp| acpi::hpet(&read_physical, rsdp)))?;
    timer::set_hz(clocks.apic_hz);
    // SAFETY: nobody else runs.
    unsafe { tsc::set_hz(clocks.tsc_hz, clocks.source) };
    // SAFETY: the other CPUs do not run yet.
    unsafe { pci::survey(rsdp) };
    let root = KERNEL_CR3.load(Acquire);
    for cpu in 1..found {
        // SAFETY: the CPU does not run yet.
        unsafe { kstack::map(root, cpu, frames) }
            .map_err(|NoFrames| "not enough memory for the stacks of all CPUs: give the machine more memory or fewer CPUs")?;
        kstack::use_stacks(cpu);
    }
    Ok(Platform {
        cpus: found,
        too_many,
        tsc_hz: clocks.tsc_hz,
        apic_timer_hz: clocks.apic_hz,
    })
}

/// One line on the console.
pub fn say(words: core::fmt::Arguments) {
    use core::fmt::Write;
    struct Line([u8; 200], usize);
    impl Write for Line {
        fn write_str(&mut self, s: &str) -> core::fmt::Result {
            let n = s.len().min(self.0.len() - self.1);
            self.0[self.1..self.1 + n].copy_from_slice(&s.as_bytes()[..n]);
            self.1 += n;
            Ok(())
        }
    }
    let mut line = Line([0; 200], 0);
    let _ = writeln!(line, "ringo: {words}");
    super::console_write(&line.0[..line.1]);
}
