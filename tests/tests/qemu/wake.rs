//! Lost wake-ups, each on 1, 2 and 4 CPUs, with everything on and without the nets.

use tests::{Case, DEFAULT, NO_NET};

/// A test, and its size (an argument, and its value on 1, 2 and 4 CPUs). Machines with more CPUs than the host has free
/// spend most of the time waiting for each other.
const TESTS: &[(&str, &str, [u64; 3])] = &[
    ("wake_ready_then_hold", "rounds", [20_000, 20_000, 2_000]),
    ("wake_everybody", "rounds", [3_000, 800, 100]),
    ("wake_network", "steps", [4_000, 4_000, 2_000]),
    ("wake_points", "steps", [100, 100, 60]),
    ("wake_batches", "rounds", [2_000, 2_000, 300]),
    ("wake_burst", "rounds", [300, 300, 100]),
    ("wake_timer_at_idle", "rounds", [1_000, 1_000, 600]),
    ("wake_no_false_deadlock", "rounds", [30_000, 10_000, 5_000]),
    ("wake_yield_alone", "yields", [200_000, 200_000, 200_000]),
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (test, key, sizes) in TESTS {
        for (smp, size) in [1, 2, 4].into_iter().zip(sizes) {
            for mode in [DEFAULT, NO_NET] {
                // Where a net may help, a part of the rounds will do.
                let size = if mode == DEFAULT {
                    size.div_ceil(3)
                } else {
                    *size
                };
                all.push(Case::new("wake", test).smp(smp).mode(mode).arg(key, size));
            }
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
