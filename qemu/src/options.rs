//! The options of a run, checked before anything is built or booted.

use std::path::PathBuf;
use std::time::Duration;

use base::config::{Config, KEYS, Key};
use clap::Parser;

use crate::net::tap_flags;
use crate::{Accel, Board, Failure, Forward, Net, Result, disk, size};

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
    name = "cargo run --",
    override_usage = "cargo run -- [NAME|FILE.rs] [OPTIONS] [-- ARGS FOR THE PROGRAM]",
    after_help = after_help(),
    disable_version_flag = true
)]
pub struct RunArgs {
    /// A program in demos/src/bin, or a file of your own
    #[arg(value_name = "NAME|FILE.rs", default_value = "tour")]
    pub program: String,
    /// Where it runs: a machine under QEMU, or threads of this system
    #[arg(long, value_name = "MACHINE", default_value = "qemu", value_parser = ["qemu", "host"])]
    pub machine: String,
    /// CPUs, or threads of the host machine [default: this system's, at least 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub smp: Option<u32>,
    /// Ps, Go's GOMAXPROCS [default: $GOMAXPROCS, else all CPUs]
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub procs: Option<u32>,
    /// Memory, as 512M or 2G [default: 512M]
    #[arg(long, value_name = "SIZE")]
    pub mem: Option<String>,
    /// What executes instructions [default: auto]
    #[arg(long, value_name = "ACCEL", value_parser = ["auto", "tcg", "kvm"])]
    pub accel: Option<String>,
    /// QEMU's CPU model [default: max]
    #[arg(long, value_name = "MODEL")]
    pub cpu: Option<String>,
    /// The board [default: q35]
    #[arg(long, value_name = "BOARD", value_parser = ["q35", "microvm"])]
    pub board: Option<String>,
    /// A word of the kernel's command line; may be given several times, the last one for a key counts
    #[arg(long, value_name = "key=value")]
    pub set: Vec<String>,
    /// Makes the whole machine repeat itself: the same number, the same run
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Ends the machine after so many seconds [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Level of the kernel's log: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
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
    #[arg(long, value_name = "NET")]
    pub net: Option<String>,
    /// A port of this system that reaches one of the machine's; udp:HOST:GUEST for UDP; may be given several times
    /// [default: what the program listens on]
    #[arg(long, value_name = "HOST:GUEST")]
    pub forward: Vec<String>,
    /// Writes the frames of the network into a file, as pcap
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// A file as the machine's disk [default: a small one, where the program reads it]
    #[arg(long, value_name = "FILE")]
    pub disk: Option<PathBuf>,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGS FOR THE PROGRAM")]
    pub args: Vec<String>,
}

/// What the checks have made of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// CPUs.
    pub smp: u32,
    /// Ps, where they are not simply all.
    pub procs: Option<u32>,
    /// Memory in bytes.
    pub mem_bytes: u64,
    /// What executes instructions.
    pub accel: Accel,
    /// QEMU's CPU model.
    pub cpu: String,
    /// The board.
    pub board: Board,
    /// What the network card is connected to.
    pub net: Net,
    /// Ports that are forwarded.
    pub forwards: Vec<Forward>,
    /// Words of the command line, `--procs` and `--log` among them.
    pub words: Vec<String>,
}

/// The keys of `--set`, as they are listed.
fn keys() -> String {
    let keys = KEYS.iter().filter(|key| key.is_for_users());
    keys.map(Key::name).collect::<Vec<_>>().join(" ")
}

fn after_help() -> String {
    format!(
        "Keys of --set: {}\n\nCommands: list, doctor, check, soak, top (each with --help)\n\nExit status: 0 fine; 1 the program \
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

impl RunArgs {
    /// Where it runs.
    pub fn kind(&self) -> MachineKind {
        if self.machine == "host" {
            MachineKind::Host
        } else {
            MachineKind::Qemu
        }
    }

    /// Checks what clap cannot.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<Checked> {
        self.not_yet()?;
        let host_cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let smp = self.smp.unwrap_or(host_cpus.clamp(2, 64));
        let gomaxprocs = std::env::var("GOMAXPROCS").ok();
        let procs = procs(self.procs, gomaxprocs.as_deref(), smp)?;
        let mut words = self.set.clone();
        if let Some(bad) = words
            .iter()
            .find(|word| word.contains(char::is_whitespace) || word.is_empty())
        {
            return Err(Failure::new(format!(
                "--set \"{bad}\": a word is key=value without spaces"
            )));
        }
        // The runner sets the rest itself.
        let is_ours = |name: &str| {
            KEYS.iter()
                .any(|key| key.name() == name && !key.is_for_users())
        };
        let names = words.iter().filter_map(|word| word.split('=').next());
        if let Some(name) = names.into_iter().find(|name| is_ours(name)) {
            let keys = keys();
            return Err(Failure::new(format!(
                "--set {name}: there is no such key; the keys are {keys}"
            )));
        }
        // An explicit key beats the environment, an explicit option beats both.
        let set_procs = words.iter().any(|word| word.starts_with("procs="));
        words.extend(
            procs
                .filter(|_| self.procs.is_some() || !set_procs)
                .map(|procs| format!("procs={procs}")),
        );
        words.extend(self.log.as_ref().map(|level| format!("log={level}")));
        let all = format!("{} smp={smp}", words.join(" "));
        let config = Config::parse(&all).map_err(|error| match self.log {
            Some(_) if error.to_string().starts_with("log=") => {
                Failure::new(format!("--log: {error}"))
            }
            _ => Failure::new(format!("--set {error}")),
        })?;
        Ok(Checked {
            smp,
            procs: config.procs,
            mem_bytes: size::parse_mem(self.mem.as_deref().unwrap_or("512M"))?,
            accel: match self.accel.as_deref() {
                Some("tcg") => Accel::Tcg,
                Some("kvm") => Accel::Kvm,
                _ => Accel::Auto,
            },
            cpu: self.cpu.clone().unwrap_or_else(|| "max".to_string()),
            board: if self.board.as_deref() == Some("microvm") {
                Board::Microvm
            } else {
                Board::Q35
            },
            forwards: self.forwards()?,
            net: self.net()?,
            words,
        })
    }

    /// What the card is connected to.
    fn net(&self) -> Result<Net> {
        let net = self.net.as_deref().map_or(Ok(Net::IfUsed), Net::parse)?;
        let (asked, capture) = (
            net != Net::IfUsed && net != Net::None,
            self.capture.is_some(),
        );
        let option = if asked {
            "--net"
        } else if !self.forward.is_empty() {
            "--forward"
        } else if capture {
            "--capture"
        } else {
            return Ok(net);
        };
        if self.kind() == MachineKind::Host {
            return Err(Failure::new(format!(
                "{option} is for --machine qemu; the host machine has no card"
            )));
        }
        if self.seed.is_some() {
            return Err(Failure::new(format!(
                "--seed repeats a run, which {option} cannot: when a frame comes is up to others; leave one of them out"
            )));
        }
        if net == Net::None && capture {
            return Err(Failure::new(
                "--capture has nothing to write with --net none; leave one of them out",
            ));
        }
        if let Net::Tap(name) = &net {
            tap_flags(name)?;
        }
        Ok(net)
    }

    /// What is forwarded.
    fn forwards(&self) -> Result<Vec<Forward>> {
        let forwards = Forward::parse_all(&self.forward)?;
        if let (Some(forward), Some(net)) = (forwards.first(), &self.net)
            && net != "user"
        {
            return Err(Failure::new(format!(
                "--forward {forward} is for --net user, not for --net {net}; leave one of them out"
            )));
        }
        Ok(forwards)
    }

    /// The options given that say something about a machine that is not there under `--machine host`.
    pub fn meaningless(&self) -> Vec<&'static str> {
        let given = [
            ("--mem", self.mem.is_some()),
            ("--accel", self.accel.is_some()),
            ("--cpu", self.cpu.is_some()),
            ("--board", self.board.is_some()),
        ];
        let on_host = self.kind() == MachineKind::Host;
        let given = given.iter().filter(|(_, given)| on_host && *given);
        given.map(|(option, _)| *option).collect()
    }

    fn not_yet(&self) -> Result<()> {
        if self.trace.is_some() {
            return Err(Failure::new("--trace is not there yet"));
        }
        if self.kind() == MachineKind::Host && self.gdb {
            return Err(Failure::new(
                "--gdb is for --machine qemu; run the program's executable under gdb instead",
            ));
        }
        if let Some(file) = &self.disk {
            if self.kind() == MachineKind::Host {
                return Err(Failure::new(
                    "--disk is for --machine qemu; the host machine has no disk",
                ));
            }
            if self.seed.is_some() {
                return Err(Failure::new(
                    "--seed repeats a run, which --disk cannot: when a disk answers is up to this system; leave one of \
                     them out",
                ));
            }
            disk::open(file)?;
        }
        if self.seed.is_some() && self.accel.as_deref() == Some("kvm") {
            return Err(Failure::new(
                "--seed counts instructions, which --accel kvm cannot; leave one of them out",
            ));
        }
        Ok(())
    }
}

/// `GOMAXPROCS` is the default and cut to the CPUs; Go too ignores it where it is no number above 0.
fn procs(option: Option<u32>, environment: Option<&str>, smp: u32) -> Result<Option<u32>> {
    match option {
        Some(procs) if procs > smp => Err(Failure::new(format!(
            "--procs {procs} is more than the {smp} CPUs of --smp; it can be 1 to {smp}"
        ))),
        Some(procs) => Ok(Some(procs)),
        None => Ok(environment
            .and_then(|text| text.parse::<u32>().ok())
            .filter(|n| *n > 0)
            .map(|n| n.min(smp))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Checked> {
        RunArgs::try_parse_from(["x"].into_iter().chain(line.split_whitespace()))
            .unwrap()
            .check()
    }

    fn line(options: &str) -> String {
        check(options).unwrap_err().line
    }

    #[test]
    fn defaults() {
        let checked = check("hello").unwrap();
        assert!((2..=64).contains(&checked.smp));
        assert_eq!(
            (checked.mem_bytes, checked.accel, checked.board),
            (512 << 20, Accel::Auto, Board::Q35)
        );
        let args = RunArgs::try_parse_from(["x"]).unwrap();
        assert_eq!(args.program, "tour");
    }

    #[test]
    fn all_at_once() {
        let checked = check(
            "hello --smp 4 --procs 3 --mem 1G --accel tcg --board microvm --set preempt=coop --set steal=one --log debug \
             --net none -- -x --smp 9",
        )
        .unwrap();
        assert_eq!(
            checked.words,
            ["preempt=coop", "steal=one", "procs=3", "log=debug"]
        );
        assert_eq!(
            (checked.smp, checked.procs, checked.board),
            (4, Some(3), Board::Microvm)
        );
    }

    #[test]
    fn ps_and_cpus() {
        assert_eq!(procs(None, None, 4), Ok(None));
        assert_eq!(procs(None, Some("9"), 4), Ok(Some(4)));
        assert_eq!(procs(None, Some("many"), 4), Ok(None));
        assert_eq!(procs(None, Some("0"), 4), Ok(None));
        assert_eq!(procs(Some(2), Some("9"), 4), Ok(Some(2)));
        let wanted = "--procs 5 is more than the 4 CPUs of --smp; it can be 1 to 4";
        assert_eq!(procs(Some(5), None, 4).unwrap_err().line, wanted);
        assert!(line("hello --smp 2 --set procs=3").contains("procs=3 is more than the 2 CPUs"));
    }

    #[test]
    fn lines_for_what_is_wrong() {
        assert!(
            line("hello --set steal=no")
                .starts_with("--set steal=no is not possible; steal takes half,")
        );
        assert!(line("hello --set nokey=1").contains("the keys are procs"));
        assert!(
            line("hello --set smp=2")
                .starts_with("--set smp: there is no such key; the keys are procs")
        );
        assert!(
            line("hello --log loud").starts_with("--log: log=loud is not possible; log takes off,")
        );
        assert!(line("hello --mem 1M").contains("at least 64M"));
        assert_eq!(line("hello --trace x"), "--trace is not there yet");
        assert!(line("hello --disk no/x").starts_with("--disk no/x: No such file"));
        assert!(
            line("hello --disk x --seed 1")
                .starts_with("--seed repeats a run, which --disk cannot")
        );
        assert!(line("hello --disk x --machine host").starts_with("--disk is for --machine qemu"));
        assert!(line("hello --machine host --gdb").contains("--machine qemu"));
        assert!(line("hello --seed 1 --accel kvm").contains("--accel kvm cannot"));
    }

    #[test]
    fn network() {
        let net = |line: &str| check(line).unwrap().net;
        assert_eq!(
            (net("hello"), net("hello --net none")),
            (Net::IfUsed, Net::None)
        );
        assert_eq!(
            (net("hello --seed 1"), net("hello --net user")),
            (Net::IfUsed, Net::User)
        );
        let forwards = check("hello --forward 18080:80 --forward udp:18080:7")
            .unwrap()
            .forwards;
        assert_eq!(forwards.len(), 2);
        for (wrong, says) in [
            (
                "--net usr",
                "--net usr is not possible; it can be user, stream:PATH",
            ),
            (
                "--net tap:ringo-absent",
                "ip tuntap add dev ringo-absent mode tap",
            ),
            (
                "--net user --seed 1",
                "--seed repeats a run, which --net cannot",
            ),
            (
                "--forward 18080:80 --seed 1",
                "--seed repeats a run, which --forward cannot",
            ),
            (
                "--capture x --seed 1",
                "--seed repeats a run, which --capture cannot",
            ),
            ("--net user --machine host", "--net is for --machine qemu"),
            (
                "--capture x --machine host",
                "--capture is for --machine qemu",
            ),
            (
                "--capture x --net none",
                "--capture has nothing to write with --net none",
            ),
            (
                "--forward 18080:80 --net none",
                "--forward 18080:80 is for --net user, not for --net none",
            ),
            ("--forward 18080", "--forward 18080: it is HOST:GUEST"),
            (
                "--forward 18080:80 --forward 18080:81",
                "port 18080 goes to port 80 already",
            ),
        ] {
            let got = line(&format!("hello {wrong}"));
            assert!(got.contains(says), "{wrong}: {got}");
        }
    }

    #[test]
    fn what_means_nothing_on_the_host() {
        let meaningless = |line: &str| {
            let words = ["x"].into_iter().chain(line.split_whitespace());
            RunArgs::try_parse_from(words).unwrap().meaningless()
        };
        assert_eq!(
            meaningless("hello --machine host --mem 1G --smp 3 --board q35"),
            ["--mem", "--board"]
        );
        assert!(meaningless("hello --mem 1G --board q35").is_empty());
        assert!(meaningless("hello --machine host").is_empty());
    }

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
