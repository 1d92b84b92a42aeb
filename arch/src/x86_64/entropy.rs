//! Randomness of the machine's own (SDM, volume 1, 7.3.17).

use super::tsc;
use core::arch::asm;
use raw_cpuid::CpuId;

/// RDRAND may have nothing just now, so many times in a row only if it is broken.
const TRIES: u32 = 10;

/// Hard to guess where the CPU has RDRAND; elsewhere the counter's low bits, which is little.
pub fn entropy() -> u64 {
    let has_rdrand = CpuId::new()
        .get_feature_info()
        .is_some_and(|f| f.has_rdrand());
    let drawn = (0..TRIES).find_map(|_| has_rdrand.then(rdrand)?);
    drawn.unwrap_or(0) ^ tsc::ticks().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn rdrand() -> Option<u64> {
    let (value, ok): (u64, u8);
    // SAFETY: this CPU has the instruction, says the caller.
    unsafe {
        asm!("rdrand {}", "setc {}", out(reg) value, out(reg_byte) ok, options(nomem, nostack))
    };
    (ok != 0).then_some(value)
}
