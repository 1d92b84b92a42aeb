//! Wake-up preemption.

use tests::{Case, DEFAULT};

/// Virtual time, one CPU: lateness and shares are the scheduler's alone.
fn virtual_time(test: &str) -> Case {
    Case::new("wakeup", test)
        .smp(1)
        .mode(DEFAULT)
        .named("virtual time")
        .machine(|m| m.seed = Some(1))
        .limit(400)
}

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for smp in [1, 2, 4] {
        let tests = [
            "wakeup_hogs",
            "wakeup_half",
            "wakeup_shares",
            "wakeup_batch",
            "wakeup_yielders",
        ];
        let case = Case::several("wakeup", "in turn", &tests)
            .smp(smp)
            .limit(600);
        all.push(case.word("slice_us=5000"));
        all.push(
            Case::new("wakeup", "wakeup_hogs")
                .named("wakeup=off")
                .smp(smp)
                .word("wakeup=off")
                .arg("ticks", 20)
                .word("slice_us=5000"),
        );
    }
    all.push(
        Case::new("wakeup", "wakeup_min_run")
            .smp(1)
            .word("min_run_us=2000"),
    );
    all.push(virtual_time("wakeup_hogs"));
    all.push(
        virtual_time("wakeup_hogs")
            .named("virtual time, wakeup=off")
            .word("wakeup=off")
            .arg("ticks", 30),
    );
    for test in ["wakeup_half", "wakeup_shares", "wakeup_batch"] {
        all.push(virtual_time(test).word("slice_us=2000"));
    }
    all.push(virtual_time("wakeup_min_run").word("min_run_us=2000"));
    all.push(virtual_time("wakeup_yielders").word("slice_us=2000"));
    all
}
