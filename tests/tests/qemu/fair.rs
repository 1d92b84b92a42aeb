//! Who runs when.

use tests::{Case, DEFAULT, Mode, NO_NET, sized};

fn case(test: &str, smp: u32, mode: Mode) -> Case {
    Case::new("fair", test).smp(smp).mode(mode)
}

/// Virtual time: lateness is the scheduler's alone. On one CPU; more take turns there, which is no machine's behaviour.
fn virtual_time(test: &str) -> Case {
    case(test, 1, DEFAULT)
        .named("virtual time")
        .machine(|m| m.seed = Some(1))
        .word("slice_us=2000")
        .limit(400)
}

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let several = |title, tests: &[&str], smp| Case::several("fair", title, tests).smp(smp);
    for mode in [DEFAULT, NO_NET] {
        for (smp, laps) in [(1, 200), (2, 40), (4, 4)] {
            let tests = [
                &sized("fair_parallelism", "laps", laps),
                "fair_timer",
                "fair_yield_progress",
                "fair_chain",
                "fair_pair_and_timer",
                "fair_pair_and_third",
                "fair_spread",
                "fair_yielders_and_ticker",
                "timers_behind_hogs",
            ];
            all.push(several("in turn", &tests, smp).mode(mode).limit(600));
        }
    }
    all.push(case("fair_preemption", 1, DEFAULT).word("slice_us=1000"));
    for smp in [1, 2, 4] {
        let hogs = ["fair_behind_a_hog", "fair_thousand_behind_a_hog"];
        let tests = [hogs[0], hogs[1], "fair_starve", "fair_shares"];
        all.push(several("hogs", &tests, smp).word("slice_us=2000"));
        if smp > 1 {
            all.push(several("hogs", &hogs, smp).mode(NO_NET));
        }
        all.push(case("preempt_ipi_storm", smp, DEFAULT).arg("ipis", 40_000));
        all.push(case("preempt_guard_holds", smp, DEFAULT).word("slice_us=1000"));
        all.push(
            several("preempt=coop", &["preempt_coop", "preempt_gofn"], smp)
                .word("slice_us=1000")
                .word("preempt=coop"),
        );
        all.push(case("preempt_forced_everywhere", smp, DEFAULT).word("slice_us=50"));
    }
    all.push(virtual_time("fair_starve").arg("ticks", 100));
    all.push(
        virtual_time("fair_starve")
            .named("3 hogs, virtual time")
            .arg("ticks", 70)
            .arg("hogs", 3),
    );
    all.push(virtual_time("fair_yielders_and_ticker"));
    all.push(virtual_time("fair_shares"));
    all.push(virtual_time("timers_prompt"));
    all
}
