//! Registers over injected calls, and builds with a planted bug that must fail that test.

use crate::env;
use tests::{Case, Expect, figure, injection};

/// That test, until `inj` calls were injected at least.
pub fn enough(case: Case, inj: u64) -> Case {
    case.arg("inj", inj)
        .judge(move |o| match figure(o, "injected") {
            Some(n) if n >= inj => Ok(()),
            n => Err(format!("{n:?} injected calls of {inj}")),
        })
        .limit(1200)
}

/// By the timer and other CPUs. Slices so short that a LAPIC tick under TCG, some 25 us, is a good part of one; shorter ones hit
/// the scheduler itself.
fn by_interrupts(inj: u64) -> Case {
    enough(Case::new("registers", "registers"), inj).word("slice_us=30")
}

/// By single steps: any instruction, and a thirtieth as dear.
fn by_steps(inj: u64) -> Case {
    enough(Case::new("registers", "registers_stepped"), inj)
}

pub fn cases() -> Vec<Case> {
    let all = env("RINGO_INJECTIONS", 1_000_000);
    // A CPU each, side by side, makes the most of them; on four they also move about.
    let mut cases = vec![
        by_interrupts(all * 20 / 1000).smp(1),
        by_interrupts(all * 15 / 1000).smp(2).arg("each", 2),
        by_interrupts(all * 5 / 1000).smp(4),
        by_steps(all * 43 / 100).smp(1),
        by_steps(all * 43 / 100).smp(2),
        by_steps(all * 10 / 100).smp(4),
    ];
    // One build with five bugs to choose from (arch, preempt.rs).
    let planted = |test: &str, name: &str, bug| {
        let mutant = Case::new("registers", test).named(name).kernel(injection);
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
        for test in ["registers", "registers_stepped"] {
            // A changed register is reported by the test, or `core` trips over it first.
            cases.push(planted(test, name, bug).arg("inj", 100_000));
        }
    }
    // The count is raised too late: a frame on page 1 looks like an overflow.
    cases.push(planted("stack_nested", "count", 5).says("stack overflow: goroutine"));
    // The same build without a bug passes.
    for test in ["registers", "registers_stepped"] {
        cases.push(planted(test, "none", 0).arg("inj", 5000).exit(0));
    }
    cases
}
