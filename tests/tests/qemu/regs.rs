//! Registers over injected calls, and builds with a planted bug that must fail that test.

use crate::env;
use tests::{Case, Expect, figure, mutant};

/// Short slices: as many ticks as the machine will deliver.
fn registers(inj: u64) -> Case {
    let enough = move |o: &_| match figure(o, "injected") {
        Some(n) if n >= inj => Ok(()),
        n => Err(format!("{n:?} injected calls of {inj}")),
    };
    Case::new("registers", "registers").word("slice_us=20").arg("inj", inj).judge(enough).limit(1200)
}

pub fn cases() -> Vec<Case> {
    let all = env("RINGO_INJECTIONS", 1_000_000);
    // A CPU each, side by side, makes the most of them; on four they also move about.
    let mut cases = vec![
        registers(all * 42 / 100).smp(1),
        registers(all * 42 / 100).smp(1).named("two").arg("each", 2),
        registers(all * 16 / 100).smp(4),
    ];
    for bug in ["caller_saved", "fxsave", "redzone", "rflags"] {
        cases.push(
            Case::new("registers", "registers")
                .word("slice_us=20")
                .arg("inj", 30_000)
                .named(bug)
                .kernel(move || mutant(bug))
                .smp(1)
                .expect(Expect::Failure)
                .says("CORRUPT"),
        );
    }
    // The handler does not raise the count: frames pile up. Whatever comes of it, it is not a pass.
    cases.push(
        Case::new("registers", "registers")
            .word("slice_us=20")
            .arg("inj", 30_000)
            .named("count")
            .kernel(|| mutant("count"))
            .smp(1)
            .limit(60)
            .expect(Expect::Failure),
    );
    cases
}
