//! Stops of the world, and changes of the number of Ps.

use super::turns::{Sizes, in_turn};
use tests::Case;

/// Tests that must pass without the nets as well.
const COOPERATIVE: &[Sizes] = &[
    ("stw_deadlock", "rounds", [100, 50, 20]),
    ("stw_short_calls", "stops", [50, 60, 20]),
    ("stw_spin_locks", "stops", [150, 30, 15]),
    ("gomaxprocs_random", "rounds", [30, 60, 30]),
    ("gomaxprocs_tickers", "rounds", [30, 60, 40]),
    ("gomaxprocs_queues", "rounds", [12, 15, 8]),
];

pub fn cases() -> Vec<Case> {
    let mut all = in_turn("stw", COOPERATIVE, |_| "gomaxprocs_big".into());
    for smp in [1, 2, 4] {
        let tests = ["stw_loops_without_calls", "stw_loops_with_calls"];
        let case = Case::several("stw", "loops", &tests).smp(smp);
        all.push(case.word("slice_us=2000"));
    }
    for smp in [1, 2, 4] {
        all.push(
            Case::new("stw", "stw_short_calls")
                .named("20000 instructions each")
                .smp(smp)
                .word("slice_us=500")
                .arg("spins", 20_000)
                .arg("stops", 20),
        );
    }
    // The slice, against which the stop is measured, is longer than what a busy host takes a CPU away for.
    all.push(Case::new("stw", "stw_time").smp(2).word("slice_us=300000"));
    all.push(Case::new("stw", "stw_affinity").smp(2).arg("stops", 40));
    all.push(Case::new("stw", "stw_affinity").smp(4).arg("stops", 20));
    all.push(
        Case::new("stw", "stw_loops_without_calls")
            .named("sysmon=off")
            .word("sysmon=off")
            .word("slice_us=2000"),
    );
    all
}
