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
    /// The machine's memory, a file in memory.
    pub ram: RawFd,
}

/// QEMU's arguments for `machine`; `accel` is the one chosen for it.
pub fn arguments(
    machine: &Machine,
    accel: Accel,
    fds: &Descriptors,
    gdb_port: Option<u16>,
) -> Vec<String> {
    let mut args = hardware(machine, accel, fds.ram);
    let mut text = channels(fds);
    if let Some(port) = gdb_port {
        text += &format!(" -gdb tcp:127.0.0.1:{port} -S");
    }
    args.extend(text.split(' ').map(str::to_string));
    args.extend(["-kernel".to_string(), machine.kernel.display().to_string()]);
    args.extend(machine.qemu_args.iter().cloned());
    args
}

/// The machine itself, whatever kernel it boots; its memory is the file behind `ram`.
pub fn hardware(machine: &Machine, accel: Accel, ram: RawFd) -> Vec<String> {
    let accel = match machine.seed {
        Some(_) => "tcg,thread=single",
        None => accel.qemu_name(),
    };
    let (board, cpus, kib) = (board(machine.board), cpus(machine), machine.mem_bytes >> 10);
    // Without the first of these q35 adds a network card, a display and a CD drive of its own. Memory is shared: the runner reads it
    // while the machine runs, and after its end.
    let mut text = format!(
        "-nodefaults -no-user-config -nic none -display none -monitor none -machine {board},memory-backend=ram -accel {accel} \
         -smp {cpus} -m {kib}K -object memory-backend-file,id=ram,size={kib}K,mem-path=/proc/self/fd/{ram},share=on"
    );
    if machine.seed.is_some() {
        text += " -icount shift=0,sleep=off -rtc clock=vm,base=2020-01-01";
    }
    let mut args: Vec<String> = text.split(' ').map(str::to_string).collect();
    // What the user has given may hold spaces.
    args.extend(["-cpu".to_string(), cpu(machine)]);
    args
}

/// The ways in and out of the machine.
fn channels(fds: &Descriptors) -> String {
    let mut text = format!("-initrd /proc/self/fd/{}", fds.boot_module);
    text += " -chardev stdio,id=console,signal=off -serial chardev:console";
    text += &format!(
        " -chardev file,id=control,path=/proc/self/fd/{}",
        fds.control
    );
    text += " -device isa-debugcon,iobase=0xe9,chardev=control";
    text += " -device isa-debug-exit,iobase=0xf4,iosize=4";
    text += &format!(" -chardev socket,id=monitor,fd={}", fds.monitor);
    text += " -mon chardev=monitor,mode=control";
    // After a triple fault the machine stops and can still be asked.
    text + " -action reboot=shutdown,shutdown=pause"
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
        ram: 8,
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
            "-machine q35,memory-backend=ram ",
            "size=524288K,mem-path=/proc/self/fd/8,share=on",
            "-accel tcg,thread=multi",
            "-cpu max",
            "-smp 2 ",
            "-m 524288K",
            "-kernel /t/hello",
            "-initrd /proc/self/fd/5",
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
            line.contains("-machine microvm,acpi=on,pcie=on,memory-backend=ram")
                && line.contains("-smp 2,maxcpus=8"),
            "{line}"
        );
        assert!(line.contains("-accel kvm"), "{line}");
    }
}
