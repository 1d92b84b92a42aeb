//! The options of a run: what goes with what, checked before anything is built or booted.

use crate::net::tap_flags;
use crate::options::{MachineKind, RunOptions};
use crate::{Failure, Forward, Net, Result, disk};

impl RunOptions {
    /// Checks that the options go together.
    ///
    /// # Errors
    ///
    /// The first that does not.
    pub fn check_together(&self) -> Result<()> {
        if self.trace.is_some() {
            return Err(Failure::new("--trace is not there yet"));
        }
        if let Some(file) = &self.disk {
            if self.seed.is_some() {
                return Err(Failure::new(
                    "--seed repeats a run, which --disk cannot: when a disk answers is up to this system; leave one of \
                     them out",
                ));
            }
            if self.kind() == MachineKind::Qemu {
                disk::open(file)?;
            }
        }
        if self.seed.is_some() && self.accel.as_deref() == Some("kvm") {
            return Err(Failure::new(
                "--seed counts instructions, which --accel kvm cannot; leave one of them out",
            ));
        }
        Ok(())
    }

    /// What the card is connected to.
    pub fn net(&self) -> Result<Net> {
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
        if let Net::Tap(name) = &net
            && self.kind() == MachineKind::Qemu
        {
            tap_flags(name)?;
        }
        Ok(net)
    }

    /// What is forwarded.
    pub fn forwards(&self) -> Result<Vec<Forward>> {
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

    /// The options given that say something about a machine that is not there under `--machine host`. They change
    /// nothing there, so that one command line serves both machines; what is malformed or does not go together is refused on
    /// both, while nobody looks whether files and interfaces are there.
    pub fn meaningless(&self) -> Vec<&'static str> {
        let given = [
            ("--mem", self.mem.is_some()),
            ("--accel", self.accel.is_some()),
            ("--cpu", self.cpu.is_some()),
            ("--board", self.board.is_some()),
            ("--gdb", self.gdb),
            ("--disk", self.disk.is_some()),
            // None is what there is.
            ("--net", self.net.as_ref().is_some_and(|net| net != "none")),
            ("--forward", !self.forward.is_empty()),
            ("--capture", self.capture.is_some()),
        ];
        let on_host = self.kind() == MachineKind::Host;
        let given = given.iter().filter(|(_, given)| on_host && *given);
        given.map(|(option, _)| *option).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RunArgs;
    use crate::resolved::tests::{line, resolve};
    use clap::Parser;

    #[test]
    fn what_does_not_go_together() {
        assert_eq!(line("hello --trace x"), "--trace is not there yet");
        assert!(line("hello --disk no/x").starts_with("--disk no/x: there is no such file"));
        assert!(
            line("hello --disk x --seed 1")
                .starts_with("--seed repeats a run, which --disk cannot")
        );
        assert!(line("hello --seed 1 --accel kvm").contains("--accel kvm cannot"));
    }

    #[test]
    fn network() {
        let net = |line: &str| resolve(line).unwrap().net;
        assert_eq!(
            (net("hello"), net("hello --net none")),
            (Net::IfUsed, Net::None)
        );
        assert_eq!(
            (net("hello --seed 1"), net("hello --net user")),
            (Net::IfUsed, Net::User)
        );
        let forwards = resolve("hello --forward 18080:80 --forward udp:18080:7")
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
            ("--net usr --machine host", "--net usr is not possible"),
            (
                "--net user --seed 1 --machine host",
                "--seed repeats a run, which --net cannot",
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
            let args = RunArgs::try_parse_from(words).unwrap();
            args.options.meaningless()
        };
        assert_eq!(
            meaningless("hello --machine host --mem 1G --smp 3 --board q35"),
            ["--mem", "--board"]
        );
        let all = "hello --machine host --gdb --disk no/x --net tap:ringo-absent --capture x";
        assert_eq!(meaningless(all), ["--gdb", "--disk", "--net", "--capture"]);
        assert!(resolve(all).is_ok());
        let forward = "hello --machine host --forward 18080:80 --net user";
        assert_eq!(meaningless(forward), ["--net", "--forward"]);
        assert!(meaningless("hello --machine host --net none").is_empty());
        assert!(meaningless("hello --mem 1G --board q35").is_empty());
        assert!(meaningless("hello --machine host").is_empty());
    }
}
