//! The crate that programs use.
//!
//! ```ignore
//! #![no_std]
//! #![no_main]
//! use ringo::prelude::*;
//! ringo::main!(main);
//! fn main() {
//!     let (tx, rx) = chan::<u32>(0);
//!     go(move || { for i in 0..3 { tx.send(i).unwrap(); } });
//!     for v in &rx { println!("{v}"); }
//! }
//! ```
//!
//! The same program runs on the bare machine and on threads of the host machine.
#![cfg_attr(ringo_kernel, no_std)]

extern crate alloc;
// Its entry code and linker symbols are what the loader starts.
#[cfg(ringo_kernel)]
extern crate boot as _;

mod args;
mod exit;
mod fatal;
mod log;
pub mod prelude;
#[doc(hidden)]
pub mod print;
pub mod start;
mod termination;

pub use args::{Args, args};
pub use exit::{at_exit, exit};
pub use termination::Termination;

/// Name the program's main function: it runs as goroutine 1, and the machine stops when it returns. It may return `()`
/// or a `Result` whose error is `Debug`: an error is printed and the exit status is 1.
#[macro_export]
macro_rules! main {
    ($main:path) => {
        #[unsafe(no_mangle)]
        fn ringo_program_main() -> i32 {
            $crate::Termination::report($main())
        }

        /// On the host machine C's start-up code calls this.
        #[cfg(not(ringo_kernel))]
        #[unsafe(no_mangle)]
        extern "C" fn main(_argc: i32, _argv: *const *const u8) -> i32 {
            $crate::start::host_main()
        }
    };
}
