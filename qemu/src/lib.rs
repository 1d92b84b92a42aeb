//! The host tool behind `cargo run`: builds a program together with the kernel, boots it on QEMU, passes its output
//! through, and says how it ended and why.
//!
//! The test harness uses the same parts:
//!
//! ```no_run
//! # fn main() -> ringo_runner::Result<()> {
//! let root = ringo_runner::Root::find()?;
//! ringo_runner::prepare()?;
//! let elf = ringo_runner::build_kernel(&root, "demos", "hello", &ringo_runner::BuildOptions::default())?;
//! let mut machine = ringo_runner::Machine::new(elf, "hello");
//! machine.smp = 4;
//! let outcome = machine.run()?;
//! assert_eq!(outcome.exit, 0);
//! # Ok(())
//! # }
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `cli` `options` `numbers` `size` | what the user typed |
//! | `usage` `set_words` `checks` `near` `resolved` | whether that makes sense, and what it comes to |
//! | `root` `program` `program_file` `file_program` `builder` `progress` | from a name or a file to an ELF |
//! | `exec` `user_names` `user_build` `user_elf` | programs of ring 3 |
//! | `install` `cpu_models` `accel` `probe_guest` | is there a QEMU, and what can it do |
//! | `machine` `qemu_args` `boot_module` `disk` `net` `forward` | what is booted |
//! | `launch` `watch` `streams` `lines` `console` `say` `control` `backtrace` `qmp` `sys` | while it runs |
//! | `observe` `watchdog` `credit` | what its memory shows meanwhile, and whether it hangs |
//! | `exit` `postmortem` `estate` `fault_log` `symbols` `names` `report` | how it ended, and why |
//! | `host_machine` | the same program on threads of the host |
//! | `top` `which` `runtime` | a machine that runs, from another terminal |
//! | `bench` `bench_table` `bench_count` `busy` | what the scheduler costs |
//! | `versus` | the same by Go on Linux, in turn |
//! | `list` `doctor` `check` `soak` `elf_scan` `red_zone` | the other commands |

mod accel;
mod backtrace;
mod bench;
mod bench_count;
mod bench_table;
mod boot_module;
mod builder;
mod busy;
mod check;
mod checks;
pub mod cli;
mod console;
mod control;
mod cpu_models;
mod credit;
mod disk;
mod doctor;
mod elf_scan;
mod estate;
mod exec;
mod exit;
mod failure;
mod fault_log;
mod file_program;
mod forward;
mod host_machine;
mod install;
mod launch;
mod lines;
mod list;
mod machine;
mod names;
mod near;
mod net;
mod numbers;
mod observe;
mod options;
mod postmortem;
mod probe_guest;
mod program;
mod program_file;
mod progress;
mod qemu_args;
mod qmp;
mod red_zone;
mod report;
mod resolved;
mod root;
mod run;
mod runtime;
mod say;
mod set_words;
mod size;
mod soak;
mod streams;
mod symbols;
mod sys;
mod top;
mod usage;
mod user_build;
mod user_elf;
mod user_names;
mod versus;
mod watch;
mod watchdog;
mod which;

pub use accel::kvm_usable;
pub use builder::{BuildOptions, PROFILE, build_kernel};
pub use disk::{Disk, DiskCounts};
pub use elf_scan::{Scan, scan as scan_elf};
pub use failure::{Failure, Result};
pub use forward::Forward;
pub use host_machine::HostMachine;
pub use install::{prepare, prepare_tool};
pub use machine::{Accel, Board, Input, Machine, Outcome, Output};
pub use net::Net;
pub use observe::Traced;
pub use progress::Notice;
pub use root::Root;
pub use symbols::Symbols;
pub use user_build::{USER_PROGRAMS, USER_TESTS, build_user, starts_ring_3, user_programs_for};
