//! Goroutines that are locked to their CPU, and blocking calls.

use super::turns::{Sizes, in_turn};
use tests::{Case, NO_NET, sized};

const LOCKED: &[Sizes] = &[
    ("locked_yield_progress", "yields", [1000, 1000, 300]),
    ("locked_yield", "rounds", [50, 50, 50]),
    ("locked_block", "rounds", [2000, 2000, 500]),
    ("locked_stays", "moves", [50, 50, 20]),
    ("locked_exit", "rounds", [100, 60, 20]),
    ("locked_main", "rounds", [200, 200, 100]),
    ("locked_under_stops", "rounds", [100, 100, 40]),
];

pub fn cases() -> Vec<Case> {
    let new = |test, smp| Case::new("locked", test).smp(smp);
    let mut all = in_turn("locked", LOCKED, |smp| {
        sized("locked_nesting", "moves", 160 / u64::from(smp))
    });
    // Only P of several CPUs: the P follows the locked G.
    let tests = ["locked_block", "locked_exit", "locked_yield_progress"];
    let case = Case::several("locked", "1 P of 2", &tests);
    all.push(case.mode(NO_NET).word("procs=1"));
    // Without sysmon, which would see that the tick is late.
    all.push(
        new("handoff_tick_taken", 2)
            .named("sysmon=off")
            .word("sysmon=off"),
    );
    for smp in [1, 2] {
        all.push(new("handoff_woken_before", smp));
    }
    all.push(new("handoff_seen_from_call", 3).word("procs=1"));
    for words in ["preempt=async", "preempt=off"] {
        let case = new("handoff_tray", 2).named(words).word(words);
        all.push(case.word("sysmon=off"));
    }
    for preempt in ["preempt=async", "preempt=off"] {
        let several = |title, tests: &[&str]| {
            let case = Case::several("locked", title, tests);
            case.named(preempt).word(preempt)
        };
        let tests = ["handoff_retake", "handoff_runnext", "handoff_storm"];
        all.push(several("handoffs, 1 P of 2", &tests).word("procs=1"));
        for smp in [2, 4] {
            all.push(several("handoffs", &tests[1..]).smp(smp));
        }
    }
    all
}
