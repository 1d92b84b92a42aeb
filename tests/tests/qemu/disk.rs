//! The disk: polled reads on both boards, what is wrong with a request, that the host has seen as many as were made, and
//! what becomes of the Ps of goroutines that read.

use ringo_runner::{Disk, Machine};
use std::path::PathBuf;
use tests::{Board, Case, DEFAULT, NO_NET, Outcome, demo, figure};

/// The image that the runner makes for programs that read one.
fn case(test: &str) -> Case {
    Case::new("disk", test).machine(|machine| machine.disk = Disk::IfUsed)
}

fn on(board: Board, case: Case) -> Case {
    let name = if board == Board::Microvm {
        "microvm"
    } else {
        "q35"
    };
    case.named(name)
        .machine(move |machine| machine.board = board)
}

/// As many reads as the machine says it made, counted by QEMU.
fn counted(outcome: &Outcome) -> Result<(), String> {
    let said = figure(outcome, "reads");
    match outcome.disk {
        Some(seen) if said == Some(seen.reads) => Ok(()),
        seen => Err(format!(
            "the machine made {said:?} reads, QEMU saw {seen:?}"
        )),
    }
}

/// A file for a case, with a comma in its name; it goes with the case.
struct Image(PathBuf);

impl Image {
    fn new(name: &str) -> Image {
        Image(std::env::temp_dir().join(format!("ringo-{name},{}", std::process::id())))
    }
    /// A case whose image cannot be written fails, as it finds none.
    fn write(&self, bytes: &[u8]) {
        drop(std::fs::write(&self.0, bytes))
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn numbered(sectors: u64) -> Vec<u8> {
    (0..sectors)
        .flat_map(|sector| [sector.to_le_bytes(); 64])
        .flatten()
        .collect()
}

/// Firmware that has to find room for 2 GiB of registers moves all that it can above 4 GiB.
const CROWDED: &str = "-object memory-backend-ram,id=big,size=2G -device ivshmem-plain,memdev=big";

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for board in [Board::Q35, Board::Microvm] {
        for smp in [1, 2, 4] {
            all.push(on(
                board,
                case("disk_reads").arg("reads", 150).smp(smp).judge(counted),
            ));
            for mode in [DEFAULT, NO_NET] {
                all.push(on(
                    board,
                    case("disk_readers")
                        .arg("each", 8)
                        .smp(smp)
                        .mode(mode)
                        .judge(counted),
                ));
            }
        }
        all.push(on(board, case("disk_bad_requests").judge(counted)));
        all.push(on(
            board,
            Case::new("disk", "disk_absent").says("this machine has no disk"),
        ));
    }
    // As fast as it can. (The queue's index passes 65 536 in a test of the driver on the host.)
    all.push(
        case("disk_reads")
            .named("without delay")
            .arg("reads", 3_000)
            .machine(|m| m.disk_requests_per_s = None)
            .judge(counted),
    );
    let crowded = |machine: &mut Machine| {
        machine.qemu_args = CROWDED.split(' ').map(str::to_string).collect()
    };
    all.push(
        case("disk_reads")
            .named("far registers")
            .arg("reads", 50)
            .machine(crowded)
            .judge(counted),
    );
    // A seeded machine has none, whatever its program reads.
    all.push(
        case("disk_absent")
            .named("seed")
            .machine(|machine| machine.seed = Some(1)),
    );
    all.extend([file(), read_only()]);
    for smp in [2, 4] {
        for on in [true, false] {
            all.push(handoff(smp, on).judge(event_counted));
            let seeded = |machine: &mut Machine| {
                machine.seed = Some(3);
                machine.args = vec!["8".to_string()];
            };
            let judge = move |outcome: &Outcome| shown(outcome, on);
            all.push(
                handoff(smp, on)
                    .named(if on {
                        "handoff=on, virtual time"
                    } else {
                        "handoff=off, virtual time"
                    })
                    .machine(seeded)
                    .judge(judge),
            );
        }
    }
    all
}

/// The demo, which judges itself, if with wide bounds.
fn handoff(smp: u32, on: bool) -> Case {
    let word = if on { "handoff=on" } else { "handoff=off" };
    Case::new("disk", "handoff")
        .named(word)
        .kernel(|| demo("handoff"))
        .machine(|machine| {
            machine.disk = Disk::IfUsed;
            machine.args = vec!["30".to_string()];
        })
        .smp(smp)
        .word(word)
}

/// The program's count at its end is QEMU's.
fn event_counted(outcome: &Outcome) -> Result<(), String> {
    let said = outcome.event("disk").map(|event| event["reads"].as_u64());
    match outcome.disk {
        Some(seen) if said == Some(Some(seen.reads)) && seen.reads > 0 => Ok(()),
        seen => Err(format!(
            "the program made {said:?} reads, QEMU saw {seen:?}"
        )),
    }
}

/// In virtual time, with reads that are only played: while each P has a goroutine in a read, the others compute nearly as
/// fast as ever, or not at all, and what a reader left on its P runs before the read is over, or after it. (With several CPUs they
/// take turns of some milliseconds in virtual time, so that a part of it is luck.)
fn shown(outcome: &Outcome, on: bool) -> Result<(), String> {
    let number = |before: &str, nth: usize| -> Option<f64> {
        let (_, rest) = outcome.stdout.split_once(before)?;
        rest.split_whitespace().nth(nth)?.parse().ok()
    };
    let share = number("a share of ", 0);
    let early = number("is free to take a P", 0).zip(number("is free to take a P", 2));
    let (Some(share), Some((early, started))) = (share, early) else {
        return Err("it printed no figures".to_string());
    };
    let holds = if on {
        share > 0.5 && early > 0.2 * started
    } else {
        share < 0.02 && early < 0.2 * started
    };
    holds
        .then_some(())
        .ok_or_else(|| format!("a share of {share}, {early} of {started}"))
}

/// A file, which is written to.
fn file() -> Case {
    let image = Image::new("disk");
    let path = image.0.clone();
    let change = move |machine: &mut Machine| {
        image.write(&numbered(300));
        machine.disk = Disk::File(image.0.clone());
    };
    let look = move |_: &Outcome| {
        let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
        let right = bytes[100 * 512..140 * 512].iter().all(|byte| *byte == 0x5a)
            && bytes[..512] == [0; 512];
        right
            .then_some(())
            .ok_or_else(|| "the file is not what was written".to_string())
    };
    Case::new("disk", "disk_writes")
        .machine(change)
        .judge(counted)
        .judge(look)
}

fn read_only() -> Case {
    let image = Image::new("read-only");
    let change = move |machine: &mut Machine| {
        image.write(&numbered(8));
        let path = image.0.display().to_string().replace(',', ",,");
        let drive = format!("if=none,id=mine,format=raw,readonly=on,file={path}");
        machine.qemu_args = ["-drive", &drive, "-device", "virtio-blk-pci,drive=mine"]
            .map(str::to_string)
            .into();
    };
    Case::new("disk", "disk_read_only").machine(change)
}
