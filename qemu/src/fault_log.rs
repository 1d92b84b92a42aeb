//! Which faults led to a triple fault. A machine that has reset does not know; so it is booted once more under
//! QEMU's log of interrupts, for a bounded time. (Always logging costs 14 us an interrupt, measured on TCG, and a page
//! fault that backs a stack takes less than one.)

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::disk::Attached;
use crate::failure::Doing;
use crate::postmortem::{exception, show_vector};
use crate::qemu_args::{self, Descriptors};
use crate::symbols::Symbols;
use crate::{Accel, Machine, Result, boot_module, console, install, net, sys};

/// So much of the log's end is kept: a fault takes about 2 KiB.
const KEPT_BYTES: usize = 64 << 10;

/// A fault as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    vector: u8,
    error: u32,
    pc: u64,
    cr2: Option<u64>,
}

/// A line about the faults that led to the reset; `wall` is how long the first run took.
pub fn explain(machine: &Machine, accel: Accel, wall: Duration, symbols: &Symbols) -> String {
    let limit = (wall * 5 + Duration::from_secs(2)).min(Duration::from_secs(20));
    match log(machine, symbols, limit) {
        Ok(log) => describe(&chain(&log), accel, symbols),
        Err(failure) => format!("  its faults could not be logged: {failure}\n"),
    }
}

fn log(machine: &Machine, symbols: &Symbols, limit: Duration) -> Result<String> {
    let qemu = install::prepare()?;
    let module = sys::memory_file(&boot_module::pack(machine)?).doing("make the boot module")?;
    let ram = sys::memory_file(&[]).doing("make the machine's memory")?;
    let (log_out, log_in) = io::pipe().doing("make a pipe")?;
    let (_ours, theirs) = UnixStream::pair().doing("make a socket")?;
    let nowhere = std::fs::File::options()
        .write(true)
        .open("/dev/null")
        .doing("open /dev/null")?;
    let fds = Descriptors {
        boot_module: module.as_raw_fd(),
        control: nowhere.as_raw_fd(),
        monitor: theirs.as_raw_fd(),
        ram: ram.as_raw_fd(),
    };
    let mut command = Command::new(qemu);
    command.args(qemu_args::arguments(machine, Accel::Tcg, &fds, None));
    let disk = Attached::new(machine, symbols)?;
    command.args(disk.iter().flat_map(Attached::arguments));
    command.args(net::unconnected(machine, symbols));
    // This time it ends.
    command.args(["-action", "reboot=shutdown,shutdown=poweroff"]);
    command.args([
        "-d",
        "int,cpu_reset",
        "-D",
        &format!("/proc/self/fd/{}", log_in.as_raw_fd()),
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut keep = vec![
        fds.boot_module,
        fds.control,
        fds.monitor,
        fds.ram,
        log_in.as_raw_fd(),
    ];
    keep.extend(disk.iter().flat_map(Attached::descriptors));
    sys::tie(&mut command, &keep);
    let child = command.spawn().doing("start QEMU")?;
    drop((log_in, command));
    let reader = std::thread::spawn(move || {
        let mut kept = Vec::new();
        console::pump(log_out, |bytes| {
            kept.extend_from_slice(bytes);
            if kept.len() > 2 * KEPT_BYTES {
                kept.drain(..kept.len() - KEPT_BYTES);
            }
        });
        String::from_utf8_lossy(&kept).into_owned()
    });
    sys::wait(child, Some(Instant::now() + limit)).doing("wait for QEMU")?;
    Ok(reader.join().unwrap_or_default())
}

/// The faults at the log's end that belong together: each but the first was raised while the one before it was being
/// delivered, so all have the same place.
fn chain(log: &str) -> Vec<Fault> {
    let Some((before, _)) = log.rsplit_once("Triple fault") else {
        return Vec::new();
    };
    let mut faults: Vec<Fault> = before.lines().rev().filter_map(parse).take(8).collect();
    let pc = faults.first().map(|fault| fault.pc);
    let together = faults
        .iter()
        .position(|fault| Some(fault.pc) != pc)
        .unwrap_or(faults.len())
        .min(3);
    faults.truncate(together);
    faults.reverse();
    faults
}

/// `     5: v=0e e=0002 i=0 cpl=0 IP=0008:… pc=… SP=… CR2=…`
fn parse(line: &str) -> Option<Fault> {
    let words = line
        .split_once(": v=")
        .map(|(_, rest)| format!("v={rest}"))?;
    let field = |name: &str| {
        let value = words
            .split_whitespace()
            .find_map(|word| word.strip_prefix(name))?;
        u64::from_str_radix(value, 16).ok()
    };
    let vector = field("v=")?.try_into().ok()?;
    Some(Fault {
        vector,
        error: field("e=")? as u32,
        pc: field("pc=")?,
        cr2: field("CR2="),
    })
}

fn describe(chain: &[Fault], accel: Accel, symbols: &Symbols) -> String {
    let Some(first) = chain.first() else {
        let other = if accel == Accel::Kvm {
            " (under TCG)"
        } else {
            ""
        };
        return format!(
            "  a second run{other}, with its faults logged, did not end in a triple fault\n"
        );
    };
    let vectors: Vec<String> = chain
        .iter()
        .map(|fault| format!("{:02x}", fault.vector))
        .collect();
    let mut text = format!("  faults of a second, logged run: v={}", vectors.join("->"));
    let names: Vec<String> = chain
        .iter()
        .map(|f| exception(f.vector).map_or_else(|| show_vector(f.vector), str::to_string))
        .collect();
    text.push_str(&format!(" ({})", names.join(", then ")));
    text.push_str(&format!(
        ", first at {:#018x}{}",
        first.pc,
        symbols.describe(first.pc, false)
    ));
    if let Some(address) = first.cr2 {
        text.push_str(&format!(
            ", page-fault address {address:#x}, error {:#x}",
            first.error
        ));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
     4: v=20 e=0000 i=0 cpl=0 IP=0008:ffffffff80100000 pc=ffffffff80100000 SP=0010:0 env->regs[R_EAX]=0\n\
RAX=0\n\
     5: v=0e e=0002 i=0 cpl=0 IP=0008:ffffffff80100010 pc=ffffffff80100010 SP=0010:0 CR2=00000000dead0000\n\
check_exception old: 0xffffffff new 0xd\n\
     6: v=0d e=0072 i=0 cpl=0 IP=0008:ffffffff80100010 pc=ffffffff80100010 SP=0010:0 env->regs[R_EAX]=0\n\
     7: v=08 e=0000 i=0 cpl=0 IP=0008:ffffffff80100010 pc=ffffffff80100010 SP=0010:0 env->regs[R_EAX]=0\n\
check_exception old: 0x8 new 0xd\n\
Triple fault\nCPU Reset (CPU 0)\n";

    #[test]
    fn the_chain_is_what_has_one_place() {
        let chain = chain(LOG);
        assert_eq!(
            chain.iter().map(|fault| fault.vector).collect::<Vec<_>>(),
            [0x0e, 0x0d, 0x08]
        );
        assert_eq!((chain[0].cr2, chain[0].error), (Some(0xdead_0000), 2));
    }

    #[test]
    fn words_about_it() {
        let me = std::env::current_exe().unwrap();
        let symbols = Symbols::read(&me, std::path::Path::new("/")).unwrap();
        let text = describe(&chain(LOG), Accel::Tcg, &symbols);
        assert!(
            text.contains("v=0e->0d->08 (#PF, then #GP, then #DF)"),
            "{text}"
        );
        assert!(
            text.contains("page-fault address 0xdead0000, error 0x2"),
            "{text}"
        );
        assert!(describe(&chain("no fault"), Accel::Kvm, &symbols).contains("under TCG"));
    }
}
