//! Whether guests run natively here.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Doing;
use crate::{Accel, Failure, Result, probe_guest, sys};

/// How long the probe guest may take.
const PROBE_LIMIT: Duration = Duration::from_secs(1);
const NO_VIRTUALISATION: &str = "the processor shows neither vmx nor svm";

/// Makes `auto` one of the others.
///
/// # Errors
///
/// KVM is asked for by name and does not work.
pub fn choose(qemu: &Path, wanted: Accel) -> Result<Accel> {
    match wanted {
        Accel::Tcg => Ok(Accel::Tcg),
        Accel::Auto => Ok(if kvm_usable(qemu).is_ok() {
            Accel::Kvm
        } else {
            Accel::Tcg
        }),
        Accel::Kvm => match probe(qemu, Accel::Kvm) {
            Ok(()) => Ok(Accel::Kvm),
            Err(why) => Err(unusable(&cpuinfo(), &why)),
        },
    }
}

/// Whether `--accel auto` takes KVM; if not, why.
///
/// # Errors
///
/// The reason, as a phrase.
pub fn kvm_usable(qemu: &Path) -> std::result::Result<(), String> {
    if !has_virtualisation(&cpuinfo()) {
        return Err(NO_VIRTUALISATION.into());
    }
    probe(qemu, Accel::Kvm)
}

/// What is said of a KVM that is asked for by name, tried, and does not work. `why` is what was seen; the processor's
/// own lack explains it better.
fn unusable(cpuinfo: &str, why: &str) -> Failure {
    let reason = if has_virtualisation(cpuinfo) {
        why.to_string()
    } else {
        format!("{NO_VIRTUALISATION} in /proc/cpuinfo, and {why}")
    };
    Failure::new(format!(
        "--accel kvm does not work here: {reason}; use --accel tcg"
    ))
}

fn cpuinfo() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

fn has_virtualisation(cpuinfo: &str) -> bool {
    let flags = cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or("");
    flags
        .split_whitespace()
        .any(|flag| flag == "vmx" || flag == "svm")
}

/// Boots the probe guest under `accel`.
fn probe(qemu: &Path, accel: Accel) -> std::result::Result<(), String> {
    if accel == Accel::Kvm
        && let Err(error) = File::options().read(true).write(true).open("/dev/kvm")
    {
        return Err(format!("/dev/kvm cannot be opened ({error})"));
    }
    run_probe(qemu, accel)
        .map_err(|failure| failure.line)?
        .then_some(())
        .ok_or_else(|| {
            "a probe guest that executes an SSE instruction did not end well within 1 s".to_string()
        })
}

fn run_probe(qemu: &Path, accel: Accel) -> Result<bool> {
    let image = sys::memory_file(&probe_guest::image()).doing("make the probe guest")?;
    let mut command = Command::new(qemu);
    command.args([
        "-nodefaults",
        "-no-user-config",
        "-nic",
        "none",
        "-display",
        "none",
        "-machine",
        "q35",
        "-m",
        "64M",
    ]);
    command.args([
        "-accel",
        accel.qemu_name(),
        "-cpu",
        "max",
        "-no-reboot",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]);
    command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]);
    command
        .arg("-kernel")
        .arg(format!("/proc/self/fd/{}", image.as_raw_fd()));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    sys::tie(&mut command, &[image.as_raw_fd()]);
    let child = command.spawn().doing("start QEMU")?;
    let (status, _) =
        sys::wait(child, Some(Instant::now() + PROBE_LIMIT)).doing("wait for the probe guest")?;
    Ok(status.code() == Some(33))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install;

    #[test]
    fn flags_of_the_processor() {
        assert!(has_virtualisation("processor: 0\nflags\t\t: fpu vmx sse\n"));
        assert!(!has_virtualisation(
            "flags\t\t: fpu vmxoff sse\nvmx flags\t: x\n"
        ));
        assert!(!has_virtualisation(""));
    }

    #[test]
    fn why_kvm_does_not_work() {
        let line = |cpuinfo| unusable(cpuinfo, "/dev/kvm cannot be opened").line;
        let wanted = "--accel kvm does not work here: the processor shows neither vmx nor svm in /proc/cpuinfo, and \
                      /dev/kvm cannot be opened; use --accel tcg";
        assert_eq!(line("flags\t\t: fpu sse\n"), wanted);
        assert!(line("flags : vmx\n").contains("here: /dev/kvm cannot be opened; use"));
    }

    /// The guest itself is right: it ends well under TCG, which every QEMU has.
    #[test]
    fn the_probe_guest_ends_well_under_tcg() {
        let qemu = install::prepare().unwrap();
        let start = Instant::now();
        while !run_probe(&qemu, Accel::Tcg).unwrap() {
            // A loaded host may take longer than the limit.
            assert!(start.elapsed() < Duration::from_secs(30));
        }
    }
}
