//! Goroutines, queues and timers.

use tests::{Case, DEFAULT, NO_NET, sized};

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1u32, 2, 4] {
        for mode in [DEFAULT, NO_NET] {
            let tests = [
                "life_counts",
                "life_goexit",
                "life_current",
                &sized("life_park_ready", "rounds", 12_000 / u64::from(smp)),
                "timers_many",
                "locked_mix",
                &sized("locked_hands_p_on", "procs", u64::from(smp).div_ceil(2)),
            ];
            all.push(
                Case::several("life", "in turn", &tests)
                    .smp(smp)
                    .limit(600)
                    .mode(mode),
            );
        }
        let tests = [
            "life_generations",
            "life_ids",
            "life_chain",
            "timers_clock",
            "timers_order",
            "ring_thieves",
        ];
        all.push(Case::several("life", "numbers and orders", &tests).smp(smp));
    }
    let tests = [
        "life_large_closures",
        "timers_zero_and_max",
        "ring_alone",
        "gqueue",
    ];
    all.push(Case::several("life", "odds and ends", &tests));
    all.push(
        Case::new("life", "timers_long")
            .arg("ms", 5000)
            .mode(NO_NET),
    );
    all
}
