//! `cargo run -- doctor`: what this system has, and what is missing.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::builder::TARGET;
use crate::say::print;
use crate::{Result, Root, accel, install, size, sys};

/// A line of the report.
struct Finding {
    about: &'static str,
    text: String,
    /// What to do about it, if it is missing.
    cure: Option<String>,
}

/// Prints the report; exit status 1 if something is missing that a run needs.
pub fn doctor() -> Result<u8> {
    let root = Root::find()?;
    let qemu = install::find(install::QEMU);
    let findings = [
        fine("project", root.path().display().to_string()),
        tool("cargo", root.path()),
        tool("rustc", root.path()),
        linker(root.path()),
        qemu_version(qemu.as_deref()),
        fine("kvm", kvm(qemu.as_deref())),
        fine(
            "gdb",
            install::find("gdb").map_or("not there (only --gdb needs it)".into(), |p| {
                p.display().to_string()
            }),
        ),
        fine("network", networks(qemu.as_deref())),
        fine("tap", tap()),
        fine(
            "cores",
            std::thread::available_parallelism()
                .map_or(1, std::num::NonZero::get)
                .to_string(),
        ),
        memory(),
    ];
    let missing: Vec<_> = findings
        .iter()
        .filter_map(|f| Some((f.about, f.cure.as_ref()?)))
        .collect();
    let mut text = String::new();
    for Finding {
        about, text: found, ..
    } in &findings
    {
        text += &format!("{about:8} {found}\n");
    }
    for (about, cure) in &missing {
        text += &format!("missing: {about}: {cure}\n");
    }
    if missing.is_empty() {
        text += "nothing is missing\n";
    }
    print(&text)?;
    Ok(u8::from(!missing.is_empty()))
}

fn fine(about: &'static str, text: String) -> Finding {
    Finding {
        about,
        text,
        cure: None,
    }
}

fn missing(about: &'static str, text: impl Into<String>, cure: impl Into<String>) -> Finding {
    Finding {
        about,
        text: text.into(),
        cure: Some(cure.into()),
    }
}

/// First line of what a program prints, run in the project so that its pinned toolchain answers.
fn ask(program: &Path, args: &[&str], folder: &Path) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or("").to_string())
}

fn tool(name: &'static str, root: &Path) -> Finding {
    match ask(Path::new(name), &["--version"], root) {
        Some(version) => fine(name, version),
        None => missing(
            name,
            "does not run",
            "install the Rust toolchain that rust-toolchain.toml names",
        ),
    }
}

/// The linker and `core` of the target come with the toolchain of an x86-64 Linux host.
fn linker(root: &Path) -> Finding {
    let cure = format!(
        "kernels are built with the toolchain of {TARGET}; use it on an x86-64 Linux system"
    );
    let Some(sysroot) = ask(Path::new("rustc"), &["--print", "sysroot"], root) else {
        return missing("rust-lld", "no rustc to ask", cure);
    };
    let linker = Path::new(&sysroot)
        .join("lib/rustlib")
        .join(TARGET)
        .join("bin/rust-lld");
    if linker.is_file() {
        fine("rust-lld", linker.display().to_string())
    } else {
        missing("rust-lld", "not there", cure)
    }
}

fn qemu_version(qemu: Option<&Path>) -> Finding {
    let cure = "`cargo run` installs it on Debian and Ubuntu; elsewhere install qemu-system-x86_64, 7.0 or newer";
    let Some(qemu) = qemu else {
        return missing("qemu", "not there", cure);
    };
    match ask(qemu, &["--version"], Path::new("/")) {
        Some(line) if version(&line).is_some_and(|version| version < (7, 0)) => {
            missing("qemu", line, cure)
        }
        Some(line) => fine("qemu", format!("{line} at {}", qemu.display())),
        None => missing("qemu", format!("{} does not run", qemu.display()), cure),
    }
}

/// Major and minor in "QEMU emulator version 7.2.22 (…)".
fn version(line: &str) -> Option<(u32, u32)> {
    let mut parts = line.split("version ").nth(1)?.split(['.', ' ', '(']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn kvm(qemu: Option<&Path>) -> String {
    match qemu.map(accel::kvm_usable) {
        None => "not known without QEMU".into(),
        Some(Ok(())) => "works; --accel auto uses it".into(),
        Some(Err(why)) => format!("not used: {why}; --accel auto uses TCG"),
    }
}

/// Which networks QEMU has.
fn networks(qemu: Option<&Path>) -> String {
    let Some(qemu) = qemu else {
        return "not known without QEMU".into();
    };
    let help = Command::new(qemu).args(["-netdev", "help"]).output();
    let help = help.map(|output| output.stdout).unwrap_or_default();
    which_networks(&String::from_utf8_lossy(&help))
}

fn which_networks(help: &str) -> String {
    let all = [
        ("user", "--net user (the default of programs that use it)"),
        ("stream", "--net stream:PATH (QEMU 7.2 or newer)"),
        ("tap", "--net tap:IF"),
    ];
    let is_there = |name: &str| help.lines().any(|line| line.trim() == name);
    let (there, lacks): (Vec<_>, Vec<_>) = all.iter().partition(|(name, _)| is_there(name));
    let list = |all: &[&(&str, &str)]| {
        let words: Vec<_> = all.iter().map(|(_, option)| *option).collect();
        words.join(", ")
    };
    match (there.as_slice(), lacks.as_slice()) {
        (there, []) => list(there),
        ([], lacks) => format!("this QEMU lacks {}", list(lacks)),
        (there, lacks) => format!("{}; this QEMU lacks {}", list(there), list(lacks)),
    }
}

/// Whether tap interfaces can be used.
fn tap() -> String {
    let device = fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun");
    match (device, install::find("ip"), sys::is_root()) {
        (Err(error), _, _) => format!("not usable (only --net tap:IF needs it): /dev/net/tun: {error}"),
        (Ok(_), None, _) => "/dev/net/tun works; the package iproute2 makes interfaces for it".into(),
        (Ok(_), Some(_), true) => "/dev/net/tun works; ip tuntap add dev tap0 mode tap makes an interface".into(),
        (Ok(_), Some(_), false) => "/dev/net/tun works; root makes an interface that is yours by: ip tuntap add dev tap0 mode tap user $USER".into(),
    }
}

fn memory() -> Finding {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match available(&meminfo) {
        Some(bytes) if bytes < size::MIN_MEM_BYTES => missing(
            "memory",
            size::show(bytes),
            "a machine needs at least 64 MiB of free memory",
        ),
        Some(bytes) => fine("memory", format!("{} free", size::show(bytes))),
        None => fine("memory", "not known".into()),
    }
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(
            version("QEMU emulator version 7.2.22 (Debian 1:7.2)"),
            Some((7, 2))
        );
        assert_eq!(version("QEMU emulator version 10.0.0"), Some((10, 0)));
        assert_eq!(version("something else"), None);
    }

    #[test]
    fn networks_of_a_qemu() {
        let all = which_networks("Available netdev backend types:\nsocket\nstream\ntap\nuser\n");
        assert!(
            all.contains("--net user") && !all.contains("lacks"),
            "{all}"
        );
        let old = which_networks("socket\ntap\nuser\n");
        assert!(old.contains("; this QEMU lacks --net stream:PATH"), "{old}");
        assert!(which_networks("").starts_with("this QEMU lacks --net user"));
    }

    #[test]
    fn free_memory() {
        assert_eq!(
            available("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"),
            Some(2 << 20)
        );
        assert_eq!(available(""), None);
    }
}
