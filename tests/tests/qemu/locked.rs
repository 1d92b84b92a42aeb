//! Goroutines that are locked to their CPU, and blocking calls.

use tests::{Case, DEFAULT, NO_NET};

/// A test and its size, as in `stw.rs`.
const LOCKED: &[(&str, &str, [u64; 3])] = &[
    ("locked_yield_progress", "yields", [1000, 1000, 300]),
    ("locked_yield", "rounds", [50, 50, 50]),
    ("locked_block", "rounds", [2000, 2000, 500]),
    ("locked_stays", "moves", [50, 50, 20]),
    ("locked_exit", "rounds", [100, 60, 20]),
    ("locked_main", "rounds", [200, 200, 100]),
    ("locked_under_stops", "rounds", [100, 100, 40]),
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let new = |test, smp| Case::new("locked", test).smp(smp);
    for (test, key, sizes) in LOCKED {
        for (smp, size) in [1, 2, 4].into_iter().zip(sizes) {
            for mode in [DEFAULT, NO_NET] {
                let case = new(*test, smp).mode(mode).arg(key, *size);
                // Turns of those that keep their P last two slices.
                all.push(if mode == DEFAULT {
                    case.word("slice_us=500")
                } else {
                    case
                });
            }
        }
    }
    for smp in [1, 2, 4] {
        for mode in [DEFAULT, NO_NET] {
            all.push(
                new("locked_nesting", smp)
                    .mode(mode)
                    .arg("moves", 160 / u64::from(smp)),
            );
        }
    }
    // Only P of several CPUs: the P follows the locked G.
    for test in ["locked_block", "locked_exit", "locked_yield_progress"] {
        all.push(new(test, 2).named("1 P of 2").mode(NO_NET).word("procs=1"));
    }
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
        let new = |test, smp| {
            Case::new("locked", test)
                .smp(smp)
                .named(preempt)
                .word(preempt)
        };
        for test in ["handoff_retake", "handoff_runnext", "handoff_storm"] {
            let name = format!("{preempt} 1 P of 2");
            all.push(new(test, 2).named(&name).word("procs=1"));
        }
        for smp in [2, 4] {
            all.push(new("handoff_runnext", smp));
            all.push(new("handoff_storm", smp));
        }
    }
    all
}
