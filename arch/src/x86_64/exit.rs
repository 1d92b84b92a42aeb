//! The end of the machine: QEMU's `isa-debug-exit` device.

use crate::ExitCode;
use core::arch::asm;

/// I/O port of the device (`-device isa-debug-exit,iobase=0xf4,iosize=4`).
const PORT: u16 = 0xf4;

/// COM1's line status register, and its bit that says that the last byte has left (16550 data sheet, TEMT).
const LINE_STATUS: u16 = 0x3fd;
const TRANSMITTER_EMPTY: u8 = 1 << 6;
/// Looks at it before the machine ends all the same: seconds, if somebody reads the console slowly; a port that is not
/// there reads as all ones.
const LOOKS: u32 = 5_000_000;

/// Wait until the console's last byte is out: the end of the machine would swallow it.
fn drain_console() {
    let mut status = x86_64::instructions::port::PortReadOnly::<u8>::new(LINE_STATUS);
    for _ in 0..LOOKS {
        // SAFETY: reading the register changes nothing that anybody still needs.
        if unsafe { status.read() } & TRANSMITTER_EMPTY != 0 {
            return;
        }
    }
}

/// Ends the machine; QEMU's exit status is twice the code plus one. Without the device the CPU halts for good.
pub fn exit(code: ExitCode) -> ! {
    drain_console();
    super::control::close();
    // SAFETY: the port belongs to this device alone.
    unsafe { x86_64::instructions::port::PortWriteOnly::new(PORT).write(code as u32) };
    loop {
        // SAFETY: nothing is left to do.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}
