//! Ring 3: processes whose threads are goroutines.
//!
//! | question | file |
//! |---|---|
//! | what a process is, how it begins and ends | `process.rs` `system.rs` |
//! | what a thread is: in and out of ring 3 | `thread.rs` |
//! | which call does what | `table.rs` |
//! | why a process has ended, in words | `reason.rs` |
//! | what a process has mapped, what becomes of a page that is touched, how the kernel copies | `space.rs` |
//! | what of a file is a program | `elf.rs` |
//! | what of it is the machine's | `machine.rs` |
//! | what processes may use | `limits.rs` `account.rs` |
//! | how a thread waits, and what ends a wait before its time | `wait.rs` `sleeper.rs` `stop.rs` |
//! | how threads wait for a word of their memory | `futex.rs` |
//! | how the calls reach a program's memory | `memory.rs` |
//! | what handles point at | `handles.rs` `object.rs` |
//! | the calls on them | `call.rs` |
//! | files by name | `files.rs` |
#![cfg_attr(ringo_kernel, no_std)]
// Models (`tests/loom/`) use what waits, not all that is built on it.
#![cfg_attr(ringo_loom, allow(dead_code))]

extern crate alloc;

#[cfg(not(ringo_loom))]
pub mod account;
pub mod asleep;
#[cfg(not(ringo_loom))]
pub mod call;
#[cfg(not(ringo_loom))]
pub mod elf;
#[cfg(not(ringo_loom))]
pub mod files;
pub mod futex;
#[cfg(not(ringo_loom))]
pub mod handles;
#[cfg(not(ringo_loom))]
pub mod limits;
#[cfg(not(ringo_loom))]
pub mod machine;
pub mod memory;
#[cfg(not(ringo_loom))]
pub mod object;
#[cfg(not(ringo_loom))]
pub mod process;
#[cfg(all(test, not(ringo_loom)))]
mod process_tests;
#[cfg(not(ringo_loom))]
pub mod reason;
pub mod sleeper;
#[cfg(not(ringo_loom))]
pub mod space;
pub mod stop;
#[cfg(not(ringo_loom))]
pub mod system;
#[cfg(not(ringo_loom))]
pub mod table;
#[cfg(all(test, not(ringo_loom)))]
mod testing;
#[cfg(not(ringo_loom))]
pub mod thread;
pub mod wait;
