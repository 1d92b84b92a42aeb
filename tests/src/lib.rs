//! The harness of the QEMU tests: builds the test image once, boots a machine for each case, judges how it ended.
//!
//! A case is a test of the image (`tests/image`), a number of CPUs, and a mode: words of the kernel's command line. What
//! fails a case is what the machine did or said, never how long it took: the machine may share its processors with
//! anything. Time limits are there for hangs only, and wide (`RINGO_PATIENCE=N` makes them N times as wide).

mod case;
mod cost;
mod failures;
mod image;
mod live;
pub mod netns;
pub mod ring3;
mod runner;
mod table;
pub mod tools;

pub use case::{Beside, Case, Expect, figure, sized};
pub use cost::{cheapest, cost_between, host_cost, least};
pub use failures::trial;
pub use image::{build_ahead, demo, host_image, image, injection, root, runner};
pub use image::{differential, differential_on_host};
pub use live::Live;
pub use peer::{self, hung, patience};
pub use ringo_runner::HostMachine;
pub use ringo_runner::{Accel, Board, Input, Outcome};
pub use runner::{RunnerOutput, run_runner, runner_command};
pub use table::{median, note, summary};

/// A set of words of the kernel's command line, with a name for the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Short name.
    pub name: &'static str,
    /// `key=value` words.
    pub words: &'static [&'static str],
}

/// Everything as it comes.
pub const DEFAULT: Mode = Mode {
    name: "default",
    words: &[],
};

/// Neither slices nor sysmon: nothing that finds a lost wake-up after the fact (Go #60693).
pub const NO_NET: Mode = Mode {
    name: "no net",
    words: &["preempt=off", "sysmon=off"],
};
