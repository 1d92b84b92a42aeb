//! Idle Ps beside work, those that look for it, and pairs of park and ready.

use crate::env;
use libtest_mimic::Trial;
use tests::{Case, DEFAULT, NO_NET, cheapest, cost_between, note, sized, trial};

/// Virtual time: what is late is the scheduler's alone.
fn virtual_time(test: &str, smp: u32) -> Case {
    Case::new("idle", test)
        .smp(smp)
        .mode(NO_NET)
        .named("virtual time")
        .machine(|m| m.seed = Some(7))
        .limit(400)
}

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let new = |test, smp| Case::new("idle", test).smp(smp);
    // RINGO_PAIRS=10000000 is what the project promises.
    let pairs = env("RINGO_PAIRS", 1_000_000);
    for (smp, part) in [(1, 1), (2, 10), (4, 40)] {
        all.push(
            new("pairs", smp)
                .mode(NO_NET)
                .arg("pairs", pairs / part)
                .arg("halts", pairs / part / 100)
                .limit(1500),
        );
        for mode in [DEFAULT, NO_NET] {
            let rounds = if smp == 4 { 60 } else { 200 };
            let tests = [
                &sized("idle_injected", "rounds", rounds),
                "rwmutex_hammer",
                "rwmutex_parallel_readers",
            ];
            all.push(
                Case::several("idle", "in turn", &tests)
                    .smp(smp)
                    .limit(600)
                    .mode(mode),
            );
        }
    }
    all.push(
        new("pairs", 2)
            .named("spin=off")
            .word("spin=off")
            .mode(NO_NET)
            .arg("pairs", 30_000)
            .arg("halts", 1_000),
    );
    for smp in [2, 4] {
        all.push(new("idle_spinners", smp).mode(NO_NET));
        // The observer has a P to itself: one of the others must be able to idle beside the third.
        all.push(
            new("idle_work_conserved", smp.max(3))
                .mode(NO_NET)
                .arg("gs", 4000),
        );
        all.push(virtual_time("idle_work_conserved", smp.max(3)).arg("gs", 1500));
        all.push(new("idle_wake_latency", smp).mode(NO_NET));
        all.push(virtual_time("idle_wake_latency", smp).arg("rounds", 200));
    }
    for smp in [2, 4] {
        all.push(new("ipi_lost", smp));
        all.push(
            new("ipi_lost", smp)
                .named("preempt=off")
                .word("preempt=off"),
        );
        for mode in [DEFAULT, NO_NET] {
            all.push(new("cpu_stands_still", smp).mode(mode));
        }
        all.push(
            new("pairs", smp)
                .named("noise")
                .mode(NO_NET)
                .arg("noise", 1)
                .arg("pairs", 6_000)
                .arg("halts", 300),
        );
    }
    all.push(new("idle_spinners", 8).mode(NO_NET));
    all.push(new("idle_lock_storm", 8).arg("yields", 10_000));
    all
}

pub fn trials() -> Vec<Trial> {
    vec![trial("idle::few wake-ups smp=8", few_wake_ups)]
}

/// golang/go#43997: processor time of a machine of 8 CPUs that wakes one of them a thousand times a second, from two runs of
/// different length: what boot and end cost falls out. At least 94 % of the machine is idle.
fn few_wake_ups() -> Result<(), String> {
    let share = || {
        let (used, wall) = cost_between("idle_ticks", 8, "ticks", [100, 1600])?;
        Ok(used.as_secs_f64() / wall.as_secs_f64().max(0.001) / 8.0)
    };
    let share = cheapest(0.06, share)?;
    note(format!(
        "machine of 8 CPUs with about 1000 wake-ups a second: {:.2} % of them busy",
        share * 100.0
    ));
    Ok(())
}
