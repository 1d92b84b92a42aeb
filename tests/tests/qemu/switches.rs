//! A program of everything under each switch of the scheduler, and under many of them at once.

use tests::{Case, DEFAULT, NO_NET, figure};

/// The order in which Gs run that were started, or readied, one after the other.
fn order(word: &str, new: u64, ready: u64) -> Case {
    let right = [("new", new), ("ready", ready)];
    Case::new("switches", "policy_order")
        .named(word)
        .smp(1)
        .word(word)
        .judge(move |outcome| {
            let wrong = right
                .iter()
                .find(|(what, wanted)| figure(outcome, what) != Some(*wanted));
            wrong.map_or(Ok(()), |(what, wanted)| {
                Err(format!(
                    "the order of those that are {what} is not {wanted}"
                ))
            })
        })
}

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
    for words in [
        "policy=fifo",
        "policy=lifo",
        "policy=lifo preempt=off sysmon=off",
    ] {
        all.push(new(words, words));
    }
    for (word, new, ready) in [
        ("policy=go", 40123, 40123),
        ("policy=fifo", 1234, 1234),
        ("policy=lifo", 43210, 43210),
        ("runnext=off", 1234, 1234),
        ("queue=global", 1234, 1234),
    ] {
        all.push(order(word, new, ready));
    }
    for smp in [1, 2, 4] {
        for mode in [DEFAULT, NO_NET] {
            let case = Case::new("switches", "queue_global").smp(smp).mode(mode);
            all.push(case.word("queue=global").word("steal=off"));
        }
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
