//! The crate that programs use.
//!
//! ```no_run
//! #![no_std]
//! #![no_main]
//! use ringo::prelude::*;
//! ringo::main!(main);
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
//! The same file runs on the bare machine and on the host machine; the runner decides by how it builds.
#![cfg_attr(ringo_kernel, no_std)]

extern crate alloc;
// Its entry code and linker symbols are what the loader starts.
#[cfg(ringo_kernel)]
extern crate boot as _;

pub mod args;
pub mod disk;
mod dump;
pub mod exit;
mod fatal;
mod goroutine;
pub mod leaks;
mod log;
pub mod machine;
pub mod metrics;
pub mod net;
pub mod prelude;
pub mod print;
pub mod shell;
pub mod start;
pub mod switch_cost;
pub mod termination;
pub mod user;

pub use args::args;
pub use csp::synctest;
pub use dump::dump;
pub use exit::{at_exit, exit, goexit};
pub use goroutine::{Goroutine, current};
pub use leaks::{leaks, leaks_after};
pub use termination::Termination;

/// Makes a function the program's `main`. It runs as goroutine 1; it may return `()`, or a `Result` whose error is
/// printed as `Error: …` and makes the exit status 1.
///
/// ```no_run
/// # #![no_main]
/// ringo::main!(run);
/// fn run() -> Result<(), &'static str> {
///     Err("no such file")
/// }
/// ```
#[cfg(ringo_kernel)]
#[macro_export]
macro_rules! main {
    ($main:path) => {
        $crate::program_main!($main);
    };
}

/// Makes a function the program's `main`. It runs as goroutine 1; it may return `()`, or a `Result` whose error is
/// printed as `Error: …` and makes the exit status 1.
///
/// ```no_run
/// # #![no_main]
/// ringo::main!(run);
/// fn run() -> Result<(), &'static str> {
///     Err("no such file")
/// }
/// ```
#[cfg(not(ringo_kernel))]
#[macro_export]
macro_rules! main {
    ($main:path) => {
        $crate::program_main!($main);

        /// Where the C library starts the process.
        // SAFETY: no other item of the program has this symbol: `#![no_main]` leaves it to us.
        #[unsafe(export_name = "main")]
        extern "C" fn ringo_host_main(
            _argc: ::core::ffi::c_int,
            _argv: *const *const ::core::ffi::c_char,
        ) -> ::core::ffi::c_int {
            $crate::start::host_main()
        }
    };
}

/// The part of [`main!`] that is the same on both machines.
#[doc(hidden)]
#[macro_export]
macro_rules! program_main {
    ($main:path) => {
        /// What the kernel's start-up calls on goroutine 1.
        // SAFETY: one program is linked with the kernel, so the symbol is defined once.
        #[unsafe(no_mangle)]
        extern "Rust" fn ringo_program_main() -> i32 {
            $crate::Termination::report($main())
        }
    };
}
