//! Goroutines, queues and timers.

use tests::{Case, DEFAULT, NO_NET};

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1, 2, 4] {
        for test in [
            "life_counts",
            "life_goexit",
            "life_current",
            "life_park_ready",
            "timers_many",
        ] {
            for mode in [DEFAULT, NO_NET] {
                let case = Case::new("life", test).smp(smp).mode(mode);
                all.push(if test == "life_park_ready" {
                    case.arg("rounds", 12_000 / u64::from(smp))
                } else {
                    case
                });
            }
        }
        for test in [
            "life_ids",
            "life_generations",
            "life_chain",
            "timers_clock",
            "timers_order",
            "ring_thieves",
        ] {
            all.push(Case::new("life", test).smp(smp));
        }
    }
    for mode in [DEFAULT, NO_NET] {
        for smp in [1, 2, 4] {
            all.push(Case::new("life", "locked_mix").smp(smp).mode(mode));
            let case = Case::new("life", "locked_hands_p_on").smp(smp).mode(mode);
            all.push(case.arg("procs", u64::from(smp).div_ceil(2)));
        }
    }
    for test in [
        "life_large_closures",
        "timers_zero_and_max",
        "ring_alone",
        "gqueue",
    ] {
        all.push(Case::new("life", test));
    }
    all.push(
        Case::new("life", "timers_long")
            .arg("ms", 5000)
            .mode(NO_NET),
    );
    all
}
