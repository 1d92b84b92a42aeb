//! QEMU's command line.

use std::os::fd::RawFd;

use crate::{Accel, Board, Machine};

/// Descriptors that QEMU inherits.
#[derive(Clone, Copy, Debug)]
pub struct Descriptors {
    /// The boot module, a file in memory.
    pub boot_module: RawFd,
    /// The control channel, a pipe to write to.
    pub control: RawFd,
    /// The monitor, a connected socket.
    pub monitor: RawFd,
}

/// QEMU's arguments for `machine`; `accel` is the one chosen for it.
pub fn arguments(
    machine: &Machine,
    accel: Accel,
    fds: &Descriptors,
    gdb_port: Option<u16>,
) -> Vec<String> {
    let mut args = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_string()));
    // Without these q35 adds a network card, a display and a CD drive of its own.
    add(&[
        "-nodefaults",
        "-no-user-config",
        "-nic",
        "none",
        "-display",
        "none",
        "-monitor",
        "none",
    ]);
    add(&["-machine", board(machine.board)]);
    add(&[
        "-accel",
        if machine.seed.is_some() {
            "tcg,thread=single"
        } else {
            accel.qemu_name()
        },
    ]);
    add(&["-cpu", &cpu(machine)]);
    add(&["-smp", &cpus(machine)]);
    add(&["-m", &format!("{}K", machine.mem_bytes >> 10)]);
    add(&[
        "-kernel",
        &machine.kernel.display().to_string(),
        "-initrd",
        &format!("/proc/self/fd/{}", fds.boot_module),
    ]);
    add(&[
        "-chardev",
        "stdio,id=console,signal=off",
        "-serial",
        "chardev:console",
    ]);
    add(&[
        "-chardev",
        &format!("file,id=control,path=/proc/self/fd/{}", fds.control),
    ]);
    add(&["-device", "isa-debugcon,iobase=0xe9,chardev=control"]);
    add(&["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]);
    // After a triple fault the machine stops and can still be asked.
    add(&["-action", "reboot=shutdown,shutdown=pause"]);
    add(&[
        "-chardev",
        &format!("socket,id=monitor,fd={}", fds.monitor),
        "-mon",
        "chardev=monitor,mode=control",
    ]);
    if machine.seed.is_some() {
        add(&[
            "-icount",
            "shift=0,sleep=off",
            "-rtc",
            "clock=vm,base=2020-01-01",
        ]);
    }
    if let Some(port) = gdb_port {
        add(&["-gdb", &format!("tcp:127.0.0.1:{port}"), "-S"]);
    }
    args.extend(machine.qemu_args.iter().cloned());
    args
}

fn board(board: Board) -> &'static str {
    match board {
        Board::Q35 => "q35",
        // With ACPI's tables for the CPUs and PCI Express for devices; it has an ISA serial port by itself.
        Board::Microvm => "microvm,acpi=on,pcie=on",
    }
}

fn cpu(machine: &Machine) -> String {
    match machine.seed {
        // The processor's own random numbers would differ from run to run.
        Some(_) => format!("{},-rdrand,-rdseed", machine.cpu),
        None => machine.cpu.clone(),
    }
}

fn cpus(machine: &Machine) -> String {
    match machine.max_cpus {
        Some(max) => format!("{},maxcpus={max}", machine.smp),
        None => machine.smp.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FDS: Descriptors = Descriptors {
        boot_module: 5,
        control: 6,
        monitor: 7,
    };

    fn line(machine: &Machine, accel: Accel) -> String {
        arguments(machine, accel, &FDS, None).join(" ")
    }

    #[test]
    fn plain() {
        let machine = Machine::new("/t/hello".into(), "hello");
        let line = line(&machine, Accel::Tcg);
        for part in [
            "-nodefaults",
            "-nic none",
            "-machine q35 ",
            "-accel tcg,thread=multi",
            "-cpu max ",
            "-smp 2 ",
            "-m 524288K",
            "-kernel /t/hello -initrd /proc/self/fd/5",
            "path=/proc/self/fd/6",
            "fd=7",
            "isa-debug-exit,iobase=0xf4,iosize=4",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(!line.contains("icount") && !line.contains("-gdb"));
    }

    #[test]
    fn seeded() {
        let mut machine = Machine::new("k".into(), "p");
        machine.seed = Some(1);
        let line = line(&machine, Accel::Tcg);
        assert!(
            line.contains("-icount shift=0,sleep=off -rtc clock=vm,base=2020-01-01"),
            "{line}"
        );
        assert!(
            line.contains("-accel tcg,thread=single") && line.contains("-cpu max,-rdrand,-rdseed"),
            "{line}"
        );
    }

    #[test]
    fn boards_and_absent_cpus() {
        let mut machine = Machine::new("k".into(), "p");
        machine.board = Board::Microvm;
        machine.max_cpus = Some(8);
        let line = line(&machine, Accel::Kvm);
        assert!(
            line.contains("-machine microvm,acpi=on,pcie=on") && line.contains("-smp 2,maxcpus=8"),
            "{line}"
        );
        assert!(line.contains("-accel kvm"), "{line}");
    }
}
