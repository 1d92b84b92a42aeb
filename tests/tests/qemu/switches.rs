//! A program of everything under each switch of the scheduler, and under many of them at once.

use tests::{Case, NO_NET};

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let new = |name: &str, words: &str| {
        let case = Case::new("switches", "stress").named(name).smp(4);
        words
            .split_whitespace()
            .fold(case, |case, word| case.word(word))
    };
    for words in [
        "steal=one",
        "steal=off",
        "queue=global",
        "runnext=off",
        "spin=off",
        "sysmon=off",
        "preempt=coop",
        "preempt=off",
        "slice_us=100",
        "slice_us=20",
        "stack_kib=16",
        "procs=3",
        "steal=one runnext=off spin=off slice_us=100",
        "queue=global spin=off preempt=off sysmon=off",
        "steal=off sysmon=off preempt=off",
    ] {
        all.push(new(words, words));
    }
    for smp in [1, 2, 8] {
        all.push(Case::new("switches", "stress").smp(smp));
        all.push(Case::new("switches", "stress").smp(smp).mode(NO_NET));
    }
    all.push(
        new("virtual time", "slice_us=200")
            .smp(2)
            .machine(|m| m.seed = Some(3))
            .arg("size", 1),
    );
    all
}
