//! A machine to boot, and how it ended.

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::{Disk, DiskCounts, Forward, Net, Result, Traced, launch};

/// What executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    /// KVM where it works, else TCG.
    Auto,
    /// QEMU's translator.
    Tcg,
    /// The processor.
    Kvm,
}

impl Accel {
    pub(crate) fn qemu_name(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Auto | Accel::Tcg => "tcg,thread=multi",
        }
    }
}

/// The board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Board {
    /// A PC of 2009 with PCI Express.
    Q35,
    /// QEMU's smallest PC.
    Microvm,
}

/// Where the machine's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// To this process's own stdout and stderr as it comes.
    PassThrough,
    /// Into [`Outcome`].
    Capture,
}

/// What the serial console reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Nothing,
    /// This process's own stdin.
    PassThrough,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A machine to boot. Several may run at once, from several threads of one process.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The kernel's ELF.
    pub kernel: PathBuf,
    /// The program's name, for the kernel and for messages.
    pub program: String,
    /// CPUs.
    pub smp: u32,
    /// CPUs that the firmware's tables announce; the rest above `smp` are absent. `None`: as many as there are.
    pub max_cpus: Option<u32>,
    /// Memory in bytes.
    pub mem_bytes: u64,
    /// What executes instructions; [`Accel::Auto`] probes first.
    pub accel: Accel,
    /// QEMU's CPU model.
    pub cpu: String,
    /// The board.
    pub board: Board,
    /// `key=value` words of the kernel's command line, not checked here.
    pub words: Vec<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// More files of the boot module: name and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Ring-3 programs, name and ELF: the boot module's files `bin/NAME`.
    pub user_programs: Vec<(String, PathBuf)>,
    /// The whole machine becomes a function of this number: random choices, and time by counted instructions.
    pub seed: Option<u64>,
    /// The disk.
    pub disk: Disk,
    /// So many requests a second does it serve; `None`: as many as it can.
    pub disk_requests_per_s: Option<u32>,
    /// What its network card is connected to.
    pub net: Net,
    /// Ports of this system that reach ports of the machine; for [`Net::User`].
    pub forwards: Vec<Forward>,
    /// Forwards what the program listens on as well, and says so; for [`Net::User`].
    pub forward_listeners: bool,
    /// Writes the frames of its network into this file, as pcap.
    pub capture: Option<PathBuf>,
    /// All CPUs stand still again and again: how long they run, and how long they stand.
    pub pauses: Option<(Duration, Duration)>,
    /// Gets the number of QEMU's process, as soon as there is one.
    pub process: Arc<AtomicU32>,
    /// From the start of QEMU; `None`: no limit.
    pub timeout: Option<Duration>,
    /// Waits for a debugger before the first instruction, prints how to attach one, and has no time limit.
    pub gdb: bool,
    /// What the console reads.
    pub input: Input,
    /// Where output goes.
    pub output: Output,
    /// What the console has said so far, if it is captured.
    pub console: Arc<Mutex<Vec<u8>>>,
    /// Asks the kernel for figures on the control channel.
    pub json: bool,
    /// Whether the machine is booted again under a log of its faults to explain a triple fault.
    pub explain_triple_fault: bool,
    /// Follows the scheduler's events and checks them; the result is in [`Outcome::traced`].
    pub check_events: bool,
    /// Writes the scheduler's events, all of them, into this file.
    pub event_log: Option<PathBuf>,
    /// So long must a machine hang before it is ended (see the watchdog); `None`: nobody looks.
    pub hang_limit: Option<Duration>,
    /// More arguments for QEMU.
    pub qemu_args: Vec<String>,
}

/// Events that a CPU keeps at most, where they are followed: some milliseconds of the busiest of programs.
const EVENTS_MAX: u64 = 1 << 18;
/// Their share of the memory.
const EVENTS_SHARE: u64 = 16;
/// Bytes of an event.
const EVENT_BYTES: u64 = 16;

impl Machine {
    /// A captured TCG machine of 2 CPUs and 512 MiB on q35, without a time limit.
    pub fn new(kernel: PathBuf, program: &str) -> Machine {
        Machine {
            kernel,
            program: program.to_string(),
            smp: 2,
            max_cpus: None,
            mem_bytes: 512 << 20,
            accel: Accel::Tcg,
            cpu: "max".to_string(),
            board: Board::Q35,
            words: Vec::new(),
            args: Vec::new(),
            files: Vec::new(),
            user_programs: Vec::new(),
            seed: None,
            disk: Disk::None,
            disk_requests_per_s: Some(200),
            net: Net::None,
            forwards: Vec::new(),
            forward_listeners: false,
            capture: None,
            pauses: None,
            process: Arc::default(),
            timeout: None,
            gdb: false,
            input: Input::Nothing,
            output: Output::Capture,
            console: Arc::default(),
            json: false,
            explain_triple_fault: true,
            check_events: false,
            event_log: None,
            hang_limit: Some(Duration::from_secs(10)),
            qemu_args: Vec::new(),
        }
    }

    /// Boots it and waits for its end.
    ///
    /// # Errors
    ///
    /// There is no QEMU, or it refuses to start. Whatever the machine itself does is an [`Outcome`].
    pub fn run(&self) -> Result<Outcome> {
        launch::launch(self)
    }

    /// Whether the scheduler's events are wanted.
    pub(crate) fn wants_events(&self) -> bool {
        self.check_events || self.event_log.is_some()
    }

    /// Events that each CPU keeps.
    fn events(&self) -> u64 {
        let bytes = self.mem_bytes / EVENTS_SHARE / u64::from(self.smp.max(1));
        let fit = (bytes / EVENT_BYTES).clamp(512, EVENTS_MAX);
        1 << fit.ilog2()
    }

    /// The kernel's command line.
    pub(crate) fn command_line(&self) -> String {
        let mut words = self.words.clone();
        if let Some(seed) = self.seed {
            words.push(format!("seed={seed}"));
            words.push("icount=1".to_string());
        }
        if self.wants_events() {
            words.push(format!("events={}", self.events()));
        }
        if self.json {
            words.push("json=1".to_string());
        }
        // A word ends at white space.
        words.push(format!(
            "program={}",
            self.program.replace(char::is_whitespace, "_")
        ));
        words.join(" ")
    }
}

/// How a machine ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// 0 fine, 1 the program failed, 2 fatal, 3 the machine died or hung.
    pub exit: u8,
    /// QEMU's own exit status; `None` if a signal ended it.
    pub qemu_status: Option<i32>,
    /// The console, if captured.
    pub stdout: String,
    /// Whether the console ended within a line.
    pub cut_line: bool,
    /// What the program and the kernel wrote as diagnostics, and what the runner has to say about the end, if captured.
    pub stderr: String,
    /// The control channel's events in their order.
    pub events: Vec<Value>,
    /// From the start of QEMU to the program's `main`.
    pub boot_to_main: Option<Duration>,
    /// From the start of QEMU to its end.
    pub wall: Duration,
    /// Processor time that QEMU used.
    pub cpu_time: Duration,
    /// What the machine has asked its disk for, if it has one and QEMU has counted.
    pub disk: Option<DiskCounts>,
    /// What its network card was connected to.
    pub net: Option<Net>,
    /// What is known about a machine that died or hung.
    pub post_mortem: Option<String>,
    /// What its events came to, if they were followed.
    pub traced: Option<Traced>,
}

impl Outcome {
    /// The first event of this kind.
    pub fn event(&self, kind: &str) -> Option<&Value> {
        self.events.iter().find(|event| event["event"] == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line() {
        let mut machine = Machine::new("x".into(), "a b");
        assert_eq!(machine.command_line(), "program=a_b");
        machine.words = vec!["preempt=off".into()];
        machine.seed = Some(7);
        machine.json = true;
        machine.check_events = true;
        (machine.smp, machine.mem_bytes) = (4, 64 << 20);
        assert_eq!(
            machine.command_line(),
            "preempt=off seed=7 icount=1 events=65536 json=1 program=a_b"
        );
    }
}
