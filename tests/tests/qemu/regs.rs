//! Registers over injected calls, and builds with a planted bug that must fail that test.

use crate::env;
use tests::{Case, Expect, figure, mutant};

/// Slices so short that a LAPIC tick under TCG, some 25 us, is a good part of one; shorter ones hit the scheduler itself.
fn registers(inj: u64) -> Case {
    let enough = move |o: &_| match figure(o, "injected") {
        Some(n) if n >= inj => Ok(()),
        n => Err(format!("{n:?} injected calls of {inj}")),
    };
    Case::new("registers", "registers")
        .word("slice_us=30")
        .arg("inj", inj)
        .judge(enough)
        .limit(1200)
}

pub fn cases() -> Vec<Case> {
    let all = env("RINGO_INJECTIONS", 1_000_000);
    // A CPU each, side by side, makes the most of them; on four they also move about.
    let mut cases = vec![
        registers(all * 42 / 100).smp(1),
        registers(all * 42 / 100).smp(1).named("two").arg("each", 2),
        registers(all * 16 / 100).smp(4),
    ];
    // One build with five bugs to choose from (arch, preempt.rs).
    let planted = |test: &str, name: &str, bug| {
        let mutant = Case::new("registers", test)
            .named(name)
            .kernel(|| mutant("injection"));
        mutant
            .smp(1)
            .word("slice_us=30")
            .arg("bug", bug)
            .expect(Expect::Failure)
    };
    for (bug, name) in [
        (1, "caller-saved"),
        (2, "fxsave"),
        (3, "red zone"),
        (4, "rflags"),
    ] {
        // A changed register is reported by the test, or `core` trips over it first.
        cases.push(planted("registers", name, bug).arg("inj", 100_000));
    }
    // The count is raised too late: a frame on page 1 looks like an overflow.
    cases.push(planted("stack_nested", "count", 5).says("stack overflow: goroutine"));
    // The same build without a bug passes.
    cases.push(planted("registers", "none", 0).arg("inj", 5000).exit(0));
    cases
}
