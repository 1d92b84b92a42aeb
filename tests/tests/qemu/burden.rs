//! Programs that burden the machine with something besides switches.

use ringo_runner::Disk;
use tests::{Case, DEFAULT, NO_NET};

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let new = |test, smp| Case::new("burden", test).smp(smp);
    for smp in [1, 2, 4] {
        all.push(new("burden_heap", smp).word("slice_us=2000").boots(2));
        all.push(
            new("burden_disk", smp)
                .word("slice_us=2000")
                .machine(|m| m.disk = Disk::IfUsed),
        );
        all.push(new("burden_frames", smp).word("slice_us=100"));
        for mode in [DEFAULT, NO_NET] {
            all.push(new("burden_long_sleep", smp).mode(mode));
        }
    }
    all
}
