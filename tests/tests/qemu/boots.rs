//! Boots: numbers of CPUs, memory, boards, CPU models; and what a machine with nothing to do uses.

use crate::env;
use libtest_mimic::Trial;
use ringo_runner::{Board, Machine};
use tests::{Case, cheapest, cost_between, image, median, note, trial};

pub fn cases() -> Vec<Case> {
    let boots = env("RINGO_BOOTS", 3) as u32;
    let new = |name: &str, smp| Case::new("boots", "exit_0").named(name).smp(smp);
    let mut all = Vec::new();
    for smp in [1, 2, 4, 8, 16] {
        let q35 = |m: &mut Machine| m.board = Board::Q35;
        all.push(new("q35", smp).boots(boots).machine(q35));
        all.push(
            new("microvm", smp)
                .boots(boots.div_ceil(3))
                .machine(|m| m.board = Board::Microvm),
        );
    }
    for mib in [64u64, 128, 1024, 3000, 4096, 8192] {
        for (name, board) in [("q35", Board::Q35), ("microvm", Board::Microvm)] {
            let change = move |m: &mut Machine| {
                m.mem_bytes = mib << 20;
                m.board = board;
            };
            all.push(new(&format!("{mib} MiB {name}"), 2).machine(change));
        }
    }
    for model in ["max", "qemu64"] {
        for (name, board) in [("q35", Board::Q35), ("microvm", Board::Microvm)] {
            let change = move |m: &mut Machine| {
                m.cpu = model.into();
                m.board = board;
            };
            // With work, not only a boot: features of the model matter to switches and to floating point.
            let stress = Case::new("boots", "stress").named(&format!("{model} {name}"));
            all.push(stress.smp(2).arg("size", 1).machine(change));
        }
    }
    for (smp, name) in [(1, "one of 8 CPUs is there"), (3, "3 of 8 CPUs are there")] {
        let absent = |m: &mut Machine| (m.board, m.max_cpus) = (Board::Q35, Some(8));
        all.push(new(name, smp).machine(absent));
    }
    let refused = |name: &str| new(name, 2).exit(1).says("ringo: ");
    all.push(
        refused("more Ps than CPUs")
            .word("procs=3")
            .says("procs=3 is more than the 2 CPUs"),
    );
    all.push(
        refused("an unknown key")
            .word("nonsense=3")
            .says("nonsense"),
    );
    all.push(
        refused("a wrong value")
            .word("preempt=often")
            .says("preempt takes async, coop or off"),
    );
    all
}

pub fn trials() -> Vec<Trial> {
    vec![
        trial("boots::idle smp=4", idle),
        trial("boots::time to main smp=4", time_to_main),
    ]
}

/// Printed, not judged: it is the host's as much as ours.
fn time_to_main() -> Result<(), String> {
    for (name, board) in [("q35", Board::Q35), ("microvm", Board::Microvm)] {
        let mut m = Machine::new(image()?, "exit_0");
        (m.smp, m.board) = (4, board);
        m.args = vec!["exit_0".into()];
        let boots: Result<Vec<_>, _> = (0..7).map(|_| m.run()).collect();
        let times = boots.map_err(|e| e.to_string())?;
        let median = median(times.iter().filter_map(|o| o.boot_to_main)).ok_or("no main")?;
        note(format!(
            "QEMU start to main, {name}, 4 CPUs, median of 7: {:.3} s",
            median.as_secs_f64()
        ));
    }
    Ok(())
}

/// Processor time of a machine that sleeps, from two sleeps of different length: what boot and end cost falls out.
fn idle() -> Result<(), String> {
    let share = || Ok(cost_between("idle", 4, "ms", [500, 4500])?.0.as_secs_f64() / 4.0);
    let share = cheapest(0.05, share)?;
    note(format!(
        "idle machine at 4 CPUs: {:.2} % of one host CPU",
        share * 100.0
    ));
    Ok(())
}
