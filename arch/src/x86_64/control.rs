//! The control channel to the runner: QEMU's debug console, one port that takes bytes and never makes them wait.

use super::lock::Lock;
use super::{nmi, tsc};
use core::arch::asm;

const PORT: u16 = 0xe9;
/// As for the console, a holder that was stopped for good must not stop the last words: tries before they break the lock.
const SPINS: usize = 200_000;

/// The holder is off its processor at most: longer than any host keeps it from running.
const PATIENCE_NS: u64 = 10_000_000_000;

static CONTROL: Lock<()> = Lock::new(());

/// Writes all of `bytes` to the control channel as one unit, however long the host keeps the CPU that writes another one.
/// Only once the machine is ending, when that CPU may be stopped for good, the wait is bounded.
pub fn control_write(bytes: &[u8]) {
    if nmi::is_ending() {
        CONTROL.with_or_break(SPINS, |(), broken| {
            if broken {
                out(b"\n"); // the holder was stopped in the middle of its line
            }
            out(bytes)
        })
    } else {
        CONTROL.with(|()| out(bytes))
    }
}

/// Nobody writes any more but who reports the end, and nobody is in the middle of a line, which the end of the machine would
/// cut. As long as the machine ends in order the writer runs, or will.
pub(super) fn close() {
    let begin_ns = tsc::now_ns();
    let mut spins = 0;
    CONTROL.seize(|| {
        spins += 1;
        match nmi::is_ending() {
            true => spins < SPINS,
            false => tsc::now_ns() - begin_ns < PATIENCE_NS,
        }
    })
}

fn out(bytes: &[u8]) {
    // SAFETY: reads `bytes` only; the port takes any byte. DF is clear by the ABI.
    unsafe {
        asm!("rep outsb", in("dx") PORT, inout("rsi") bytes.as_ptr() => _, inout("rcx") bytes.len() => _,
             options(nostack, readonly, preserves_flags))
    };
}
