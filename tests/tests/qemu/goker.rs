//! Deadlocks and leaks of real programs.

use tests::{Case, NO_NET};

pub fn cases() -> Vec<Case> {
    let of = |test| Case::new("goker", test).word("clock=virtual");
    let mut all = vec![of("goker_leaks").mode(NO_NET)];
    for smp in [1, 2, 4] {
        all.push(of("goker_leaks").smp(smp));
        all.push(of("goker_corrected").smp(smp));
    }
    all
}
