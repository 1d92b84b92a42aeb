//! The library that ring-3 programs are written with.
//!
//! ```no_run
//! #![no_std]
//! #![no_main]
//! use rt::prelude::*;
//! rt::main!(main);
//!
//! fn main() {
//!     let (tx, rx) = chan::<u32>(0);
//!     go(move || {
//!         for i in 0..3 {
//!             tx.send(i).unwrap();
//!         }
//!     });
//!     for v in &rx {
//!         println!("{v}");
//!     }
//! }
//! ```
//!
//! A program's threads are goroutines of the kernel: what waits here parks a goroutine there. Names and forms are those of the
//! kernel-side crate `ringo`, where both have the thing.
//!
//! | file | what |
//! |---|---|
//! | `start`, `exit`, `args` | from the first instruction to the last |
//! | `syscall`, `kernel` | the instruction; on the host machine, what stands in for the few calls that the tests need |
//! | `futex`, `shim` | sleeping until a word changes; atomics, loom's in models |
//! | `sync`, `chan` | what threads say to each other |
//! | `thread`, `stack` | `go`, `spawn`, and the stacks that they run on |
//! | `heap` | the global allocator |
//! | `io`, `print`, `handle` | bytes; the kernel's objects by their numbers |
//! | `process`, `message`, `shm` | other processes, and what passes between them |
//! | `fs`, `net`, `disk` | files, TCP, sectors |
//! | `machine`, `time` | CPUs, clock |
#![cfg_attr(ringo_user, no_std)]

extern crate alloc;

pub mod args;
pub mod chan;
pub mod disk;
pub mod exit;
pub mod fs;
pub mod futex;
pub mod handle;
#[cfg(any(ringo_user, test))]
mod heap;
pub mod io;
#[cfg(not(ringo_user))]
mod kernel;
pub mod machine;
pub mod message;
pub mod net;
pub mod prelude;
pub mod print;
pub mod process;
mod shim;
pub mod shm;
#[cfg(ringo_user)]
mod stack;
pub mod start;
pub mod sync;
pub mod syscall;
pub mod thread;
pub mod time;

pub use abi::Error;
pub use args::args;
pub use exit::exit;
pub use handle::Handle;

/// What a call answers.
pub type Result<T> = core::result::Result<T, Error>;
