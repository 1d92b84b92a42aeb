//! Deadlocks and leaks of real programs.

use tests::{Case, NO_NET};

pub fn cases() -> Vec<Case> {
    let of = |test| Case::new("goker", test).word("clock=virtual");
    vec![
        of("goker_leaks").smp(1).mode(NO_NET),
        of("goker_leaks").smp(2),
        of("goker_leaks").smp(4),
        of("goker_corrected").smp(1),
        of("goker_corrected").smp(2),
    ]
}
