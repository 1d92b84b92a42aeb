//! The network card, on both boards, with what it may offer and without.

use tests::{Board, Case, NO_NET, figure};

/// A card on QEMU's own network, with further properties.
fn card(case: Case, properties: &'static str) -> Case {
    case.machine(move |machine| {
        let device = format!("virtio-net-pci,netdev=n0{properties}");
        let args = ["-netdev", "user,id=n0,restrict=on", "-device", &device];
        machine.qemu_args = args.map(str::to_string).to_vec()
    })
}

pub fn cases() -> Vec<Case> {
    let arp = |name: &'static str| Case::new("net", "net_arp").mode(NO_NET).named(name);
    let many = |o: &tests::Outcome| match figure(o, "frames") {
        Some(n) if n > 2000 => Ok(()),
        n => Err(format!("{n:?} frames")),
    };
    let microvm = |case: Case| case.machine(|machine| machine.board = Board::Microvm);
    vec![
        card(arp("q35").smp(2), "").judge(many),
        card(microvm(arp("microvm").smp(4)), "").judge(many),
        card(
            arp("modern, no event index").smp(1),
            ",disable-legacy=on,event_idx=off",
        )
        .judge(many),
        Case::new("net", "net_absent").smp(1),
    ]
}
