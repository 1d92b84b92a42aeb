//! Goroutines that can never run again.

use tests::{Case, DEFAULT, NO_NET};

pub fn cases() -> Vec<Case> {
    let of = |test| Case::new("leaks", test);
    let mut all = vec![of("leaks_in_calls"), of("leaks_many")];
    all.extend([1, 2].map(|smp| of("leaks_in_bubble").smp(smp)));
    for smp in [1, 2, 4] {
        for mode in [DEFAULT, NO_NET] {
            all.push(
                of("leaks_found")
                    .smp(smp)
                    .mode(mode)
                    .says("[chan receive (nil chan)]:")
                    .says("never runs again: what it waits for never comes")
                    .says("never runs again: it has the lock itself")
                    .says("has the lock and never runs again either")
                    .says("has ended with the lock")
                    .says("never runs again: nobody that can run has what it waits for")
                    .says("created by tests/image/src/leaks/patterns.rs:"),
            );
            all.push(of("leaks_none").smp(smp).mode(mode));
        }
    }
    all
}
