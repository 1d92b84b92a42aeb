//! The network card, on both boards, with what it may offer and without.

use ringo_runner::Disk;
use std::path::PathBuf;
use tests::{Board, Case, NO_NET, figure};

/// A card on QEMU's own network, with further properties.
fn card(name: &'static str, board: Board, smp: u32, properties: &'static str) -> Case {
    let case = Case::new("net", "net_arp")
        .mode(NO_NET)
        .named(name)
        .smp(smp);
    let case = case.machine(move |machine| {
        machine.board = board;
        let device = format!("virtio-net-pci,netdev=n0{properties}");
        let args = ["-netdev", "user,id=n0,restrict=on", "-device", &device];
        machine.qemu_args = args.map(str::to_string).to_vec()
    });
    let wanted = u64::from(!properties.contains("event_idx=off"));
    case.judge(move |o| match figure(o, "event_idx") {
        Some(got) if got == wanted => Ok(()),
        got => Err(format!("event index {got:?}, offered {wanted}")),
    })
}

/// Bytes of the file that QEMU's network has: its last block is a short one.
const FILE_BYTES: usize = 100_000;

/// A directory with that file, which goes with the case.
struct Files(PathBuf);

impl Files {
    /// A case whose file cannot be written fails, as it finds none.
    fn new(name: &str) -> Files {
        let path = std::env::temp_dir().join(format!("ringo-tftp-{name}-{}", std::process::id()));
        drop(std::fs::create_dir_all(&path));
        drop(std::fs::write(path.join("file"), content()));
        Files(path)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn content() -> Vec<u8> {
    (0..FILE_BYTES).map(|i| (i * i / 7) as u8).collect()
}

/// The stack over the card: an address, echoes, a file, all from QEMU's own network.
fn stack(name: &'static str, board: Board, smp: u32) -> Case {
    let files = Files::new(name);
    let case = Case::new("net", "net_stack")
        .mode(NO_NET)
        .named(name)
        .smp(smp);
    let case = case.machine(move |machine| {
        machine.board = board;
        let files = files.0.display();
        let user = format!("user,id=n0,restrict=on,tftp={files}");
        let args = ["-netdev", &user, "-device", "virtio-net-pci,netdev=n0"];
        machine.qemu_args = args.map(str::to_string).to_vec()
    });
    let sum = content().iter().fold(0u32, |sum, &byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    case.judge(move |o| {
        let got = (figure(o, "file_bytes"), figure(o, "file_sum"));
        let wanted = (Some(FILE_BYTES as u64), Some(u64::from(sum)));
        (got == wanted)
            .then_some(())
            .ok_or(format!("the file is {got:?}, not {wanted:?}"))
    })
}

/// A disk and a card at once, and who looks at both.
fn settled(name: &'static str, board: Board) -> Case {
    let case = Case::new("net", "pci_settled").named(name).smp(2);
    case.machine(move |machine| {
        machine.board = board;
        machine.disk = Disk::IfUsed;
        machine.qemu_args = ["-device", "virtio-net-pci"].map(str::to_string).to_vec()
    })
}

pub fn cases() -> Vec<Case> {
    vec![
        settled("q35", Board::Q35),
        settled("microvm", Board::Microvm),
        card("q35", Board::Q35, 2, ""),
        card("microvm", Board::Microvm, 4, ""),
        card("modern", Board::Q35, 1, ",disable-legacy=on"),
        card("no event index", Board::Microvm, 2, ",event_idx=off"),
        stack("q35", Board::Q35, 2),
        stack("microvm", Board::Microvm, 1),
        Case::new("net", "net_absent").smp(1),
    ]
}
