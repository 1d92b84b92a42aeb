//! What processes need of the kernel around them.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use csp::sync::OnceLock;
use user::call::Services;
use user::files::{Archive, Module, Places};
use user::futex::Futexes;
use user::machine;
use user::system::System;

/// The runner looks for this symbol: a program that has it gets the programs of ring 3.
// SAFETY: nobody else uses the name.
#[cfg(ringo_kernel)]
#[unsafe(no_mangle)]
static RINGO_USER: u8 = 1;

static SYSTEM: OnceLock<System> = OnceLock::new();
static FUTEXES: Futexes = Futexes::new();

/// All processes of this machine.
pub(super) fn system() -> &'static System {
    #[cfg(ringo_kernel)]
    // SAFETY: a static of ours. A read that the compiler may not leave out keeps the symbol in the program.
    unsafe {
        (&raw const RINGO_USER).read_volatile()
    };
    SYSTEM.get_or_init(|| {
        System::new(Services {
            console_write,
            disk_read,
            frames: machine::SHARED,
            files: Arc::new(files()),
            futexes: &FUTEXES,
        })
    })
}

fn console_write(bytes: &[u8], errors: bool) {
    if errors {
        crate::print::bytes_to_error_side(bytes)
    } else {
        crate::print::bytes_to_console(bytes)
    }
}

fn disk_read(sector: u64, to: &mut [u8]) -> Result<(), abi::Error> {
    crate::disk::read(sector, to).map_err(|_| abi::Error::Disk)
}

/// Those that came with the kernel, then those of the disk.
fn files() -> Places {
    #[cfg(ringo_kernel)]
    let module = Module::new(crate::start::module_files());
    #[cfg(not(ringo_kernel))]
    let module = Module::new([]);
    Places(vec![Box::new(module), Box::new(Archive::new(disk_read))])
}
