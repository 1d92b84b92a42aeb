//! Lost wake-ups, each on 1, 2 and 4 CPUs, with everything on and without the nets.

use super::turns::Sizes;
use tests::{Case, DEFAULT, NO_NET, sized};

/// Machines with more CPUs than the host has free spend most of the time waiting for each other.
const TESTS: &[Sizes] = &[
    ("wake_ready_then_hold", "rounds", [20_000, 10_000, 2_000]),
    ("wake_everybody", "rounds", [3_000, 800, 100]),
    ("wake_network", "steps", [4_000, 4_000, 2_000]),
    ("wake_points", "steps", [100, 100, 60]),
    ("wake_batches", "rounds", [1_000, 1_000, 200]),
    ("wake_burst", "rounds", [300, 300, 100]),
    ("wake_timer_at_idle", "rounds", [1_000, 1_000, 600]),
    ("wake_no_false_deadlock", "rounds", [20_000, 6_000, 3_000]),
    ("wake_yield_alone", "yields", [200_000, 200_000, 200_000]),
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (i, smp) in [1, 2, 4].into_iter().enumerate() {
        for mode in [DEFAULT, NO_NET] {
            // Where a net may help, a part of the rounds will do.
            let part = if mode == DEFAULT { 3 } else { 1 };
            let size = |(test, key, sizes): &Sizes| sized(test, key, sizes[i].div_ceil(part));
            let tests: Vec<String> = TESTS.iter().map(size).collect();
            let case = Case::several("wake", "in turn", &tests);
            all.push(case.smp(smp).mode(mode).limit(600));
        }
    }
    // Without polling before the halt every wake-up goes through an interrupt.
    for test in [
        "wake_ready_then_hold",
        "wake_no_false_deadlock",
        "wake_timer_at_idle",
    ] {
        all.push(
            Case::new("wake", test)
                .named("spin=off")
                .mode(NO_NET)
                .word("spin=off")
                .arg("rounds", 3000),
        );
    }
    all.push(
        Case::new("wake", "wake_network")
            .named("1 P of 2")
            .mode(NO_NET)
            .word("procs=1"),
    );
    all.push(
        Case::new("wake", "wake_no_false_deadlock")
            .named("2 Ps of 4")
            .smp(4)
            .mode(NO_NET)
            .word("procs=2"),
    );
    all
}
