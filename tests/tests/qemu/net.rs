//! The network card, on both boards, with what it may offer and without.

use ringo_runner::Disk;
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
        Case::new("net", "net_absent").smp(1),
    ]
}
