//! The program's console: COM1, both ways, polled.

use super::lock::Lock;
use uart_16550::backend::PioBackend;
use uart_16550::{Config, Uart16550};

const COM1: u16 = 0x3f8;
/// Tries of the panic path before it writes without the lock: some milliseconds, longer than an honest line takes.
const PANIC_SPINS: usize = 20_000;

struct Com(Option<Uart16550<PioBackend>>);
// SAFETY: port numbers, not memory; the lock gives exclusive access.
unsafe impl Send for Com {}

static CONSOLE: Lock<Com> = Lock::new(Com(None));

/// Sets the port up. Without a serial port the console swallows everything.
pub fn init() {
    CONSOLE.with(|c| {
        // SAFETY: COM1 belongs to this module alone.
        let port = unsafe { Uart16550::new_port(COM1) };
        c.0 = port
            .ok()
            .and_then(|mut uart| uart.init(Config::default()).ok().map(|()| uart));
    });
}

/// Writes all of `bytes` to the console as one unit: output of other CPUs comes before or after, never in between. Takes
/// no interrupt-level lock; may be called wherever preemption may be off, also with interrupts off.
pub fn console_write(bytes: &[u8]) {
    CONSOLE.with(|c| c.write(bytes));
}

/// [`console_write`] for a machine that is ending: waits a bounded time for the lock, then writes without it.
pub fn panic_console_write(bytes: &[u8]) {
    CONSOLE.with_or_break(PANIC_SPINS, |c, _| c.write(bytes));
}

/// The next byte that came in, if any.
pub fn console_read() -> Option<u8> {
    CONSOLE.with(|c| c.0.as_mut()?.try_receive_byte().ok())
}

impl Com {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(uart) = &mut self.0 {
            uart.send_bytes_exact(bytes);
        }
    }
}
