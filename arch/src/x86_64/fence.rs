//! A fence between this CPU and a device that is a thread of the emulator's.
//!
//! QEMU leaves all fences and `lock` prefixes out of what it translates for a machine of one CPU, since no other CPU is there to
//! see the difference (7.2; a translation without `CF_PARALLEL`). Its devices are: they run in a thread beside the CPU's. A store
//! may then be overtaken by a later load, and of two sides that each say something and look then, both see nothing. What a CPU
//! cannot do without the emulator is a full fence there too, since it takes a lock.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, fence};
use raw_cpuid::{CpuId, Hypervisor};
use x86_64::instructions::port::PortReadOnly;

/// Of the power-on self test; reading it does nothing on any machine.
const PORT: u16 = 0x80;

/// Fences are there: this is no emulator, or one that hides that. Relaxed: it is set before anybody else runs.
static FENCES: AtomicBool = AtomicBool::new(true);

/// Looks what executes the instructions. Once, early.
pub(super) fn init_fences() {
    let emulated = CpuId::new()
        .get_hypervisor_info()
        .is_some_and(|info| info.identify() == Hypervisor::QEMU);
    FENCES.store(!emulated, Relaxed)
}

/// What was stored before is seen by devices before what is loaded after is loaded. Dear on an emulated machine of one CPU, about a
/// microsecond: for those moments at which nobody would look again.
pub fn fence_devices() {
    fence(SeqCst);
    if super::num_cpus() == 1 && !FENCES.load(Relaxed) {
        // SAFETY: see `PORT`.
        unsafe { PortReadOnly::<u8>::new(PORT).read() };
    }
}
