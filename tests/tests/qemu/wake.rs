//! Lost wake-ups, each on 1, 2 and 4 CPUs, with everything on and without the nets.

use tests::{Case, DEFAULT, NO_NET};

const TESTS: &[&str] = &[
    "wake_ready_then_hold",
    "wake_everybody",
    "wake_network",
    "wake_points",
    "wake_batches",
    "wake_burst",
    "wake_timer_at_idle",
    "wake_no_false_deadlock",
    "wake_yield_alone",
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for test in TESTS {
        for smp in [1, 2, 4] {
            for mode in [DEFAULT, NO_NET] {
                all.push(Case::new("wake", test).smp(smp).mode(mode));
            }
        }
    }
    all
}
