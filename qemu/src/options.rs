//! The options of a run: what is asked for, as it is typed.

use std::path::PathBuf;
use std::time::Duration;

use base::config::{KEYS, Key};
use clap::Parser;
use clap::builder::NonEmptyStringValueParser;

use crate::numbers::{seed, whole};

/// The words before those of the user.
pub const PROGRAM_RUN: &str = "cargo run --";
/// An empty text is none.
fn some() -> NonEmptyStringValueParser {
    NonEmptyStringValueParser::new()
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineKind {
    /// A machine under QEMU.
    Qemu,
    /// Threads of this system.
    Host,
}

/// Builds a program, boots it on QEMU, passes its output through and says how it ended.
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM_RUN,
    override_usage = "cargo run -- [NAME|FILE.rs] [OPTIONS] [-- ARGS FOR THE PROGRAM]",
    after_help = after_help(),
    disable_version_flag = true
)]
pub struct RunArgs {
    /// A program in demos/src/bin, or a file of your own
    #[arg(value_name = "NAME|FILE.rs", default_value = "tour")]
    pub program: String,
    #[command(flatten)]
    pub options: RunOptions,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS FOR THE PROGRAM")]
    pub args: Vec<String>,
}

// The options of a run, whatever it runs. (Clap would take a doc comment for the command's.)
#[derive(Debug, clap::Args)]
pub struct RunOptions {
    /// Where it runs: a machine under QEMU, or threads of this system
    #[arg(long, value_name = "MACHINE", default_value = "qemu", value_parser = ["qemu", "host"])]
    pub machine: String,
    /// CPUs, or threads of the host machine [default: this system's, at least 2]
    #[arg(long, value_name = "N", value_parser = whole(1..=64u32, "4"), allow_negative_numbers = true)]
    pub smp: Option<u32>,
    /// Ps, Go's GOMAXPROCS [default: $GOMAXPROCS, else all CPUs]
    #[arg(long, value_name = "P", value_parser = whole(1..=64u32, "4"), allow_negative_numbers = true)]
    pub procs: Option<u32>,
    /// Memory, as 512M or 2G [default: 512M]
    #[arg(long, value_name = "SIZE", value_parser = some(), allow_negative_numbers = true)]
    pub mem: Option<String>,
    /// What executes instructions [default: auto]
    #[arg(long, value_name = "ACCEL", value_parser = ["auto", "tcg", "kvm"])]
    pub accel: Option<String>,
    /// QEMU's CPU model [default: max]
    #[arg(long, value_name = "MODEL", value_parser = some())]
    pub cpu: Option<String>,
    /// The board [default: q35]
    #[arg(long, value_name = "BOARD", value_parser = ["q35", "microvm"])]
    pub board: Option<String>,
    /// A word of the kernel's command line; may be given several times, the last one for a key counts
    #[arg(long, value_name = "key=value")]
    pub set: Vec<String>,
    /// Makes the whole machine repeat itself: the same number, the same run
    #[arg(long, value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Ends the machine after so many seconds [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,
    /// Level of the kernel's log: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", value_parser = some())]
    pub log: Option<String>,
    /// Builds unoptimised, with all checks
    #[arg(long)]
    pub debug: bool,
    /// Waits for a debugger before the first instruction
    #[arg(long)]
    pub gdb: bool,
    /// Prints the run's figures at the end, as JSON lines
    #[arg(long)]
    pub json: bool,
    /// (not there yet)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<String>,
    /// What the network card is connected to: user (QEMU's own network), stream:PATH (frames over a Unix socket), tap:IF
    /// or none [default: user, where the program has a network]
    #[arg(long, value_name = "NET", value_parser = some())]
    pub net: Option<String>,
    /// A port of this system that reaches one of the machine's; udp:HOST:GUEST for UDP; may be given several times
    /// [default: what the program listens on]
    #[arg(long, value_name = "HOST:GUEST", value_parser = some())]
    pub forward: Vec<String>,
    /// Writes the frames of the network into a file, as pcap
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// A file as the machine's disk; a tar archive may hold ring-3 programs [default: a small one, where the program reads it]
    #[arg(long, value_name = "FILE")]
    pub disk: Option<PathBuf>,
}

impl RunOptions {
    /// Where it runs.
    pub fn kind(&self) -> MachineKind {
        if self.machine == "host" {
            MachineKind::Host
        } else {
            MachineKind::Qemu
        }
    }
}

/// The keys of `--set`, as they are listed.
pub fn keys() -> String {
    let keys = KEYS.iter().filter(|key| key.is_for_users());
    keys.map(Key::name).collect::<Vec<_>>().join(" ")
}

fn after_help() -> String {
    format!(
        "Keys of --set: {}\n\nCommands: exec, list, doctor, check, bench, soak, top (each with --help), help NAME\n\nExit status: 0 fine; 1 the program \
         failed, or wrong usage; 2 fatal (panic, deadlock, stack overflow); 3 the machine died or hung",
        keys()
    )
}

fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let wrong = "a time limit is a number of seconds above 0, such as 10 or 0.5";
    let seconds: f64 = text.parse().map_err(|_| wrong)?;
    let limit = Duration::try_from_secs_f64(seconds).map_err(|_| wrong)?;
    if limit.is_zero() {
        Err(wrong.into())
    } else {
        Ok(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clap_refuses() {
        for bad in [
            "hello --smp 65",
            "hello --smp 0",
            "hello --timeout 0",
            "hello --timeout -1",
            "hello --accel xen",
        ] {
            assert!(
                RunArgs::try_parse_from(["x"].into_iter().chain(bad.split_whitespace())).is_err(),
                "{bad}"
            );
        }
    }
}
