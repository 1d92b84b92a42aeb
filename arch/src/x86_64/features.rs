//! Protections that a CPU may have, switched on where they are.

use raw_cpuid::CpuId;
use x86_64::registers::control::{Cr4, Cr4Flags};

/// SMEP, SMAP: the kernel never executes a page of ring 3, nor reads or writes one by its address there. UMIP: user code cannot
/// read descriptor table addresses. (CR0.WP, EFER.NXE and the SSE bits are set by the boot code; OSXSAVE stays 0, so there is no
/// AVX and FXSAVE is the whole state.)
///
/// # Safety
/// Once per CPU; no user page is mapped.
pub unsafe fn enable() {
    let id = CpuId::new();
    let Some(has) = id.get_extended_feature_info() else {
        return;
    };
    let mut flags = Cr4Flags::empty();
    flags.set(
        Cr4Flags::SUPERVISOR_MODE_EXECUTION_PROTECTION,
        has.has_smep(),
    );
    flags.set(Cr4Flags::SUPERVISOR_MODE_ACCESS_PREVENTION, has.has_smap());
    flags.set(Cr4Flags::USER_MODE_INSTRUCTION_PREVENTION, has.has_umip());
    // SAFETY: only bits that this CPU has, see above.
    unsafe { Cr4::update(|f| f.insert(flags)) };
}

/// Whether a hypervisor or emulator says that it is one (CPUID leaf 1, ECX bit 31).
pub fn is_virtual() -> bool {
    CpuId::new()
        .get_feature_info()
        .is_some_and(|f| f.has_hypervisor())
}
