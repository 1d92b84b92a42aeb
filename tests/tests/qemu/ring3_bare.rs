//! Ring 3 without processes: the way in and out, preemption there, address spaces.

use crate::env;
use crate::regs::enough;
use tests::{Case, Expect, injection};

pub fn cases() -> Vec<Case> {
    // A fifth, in an ordinary run: here a million cost 60 CPU-seconds.
    let all = env("RINGO_INJECTIONS", 1_000_000) / 5;
    let mut cases = Vec::new();
    for smp in [1, 2, 4] {
        let case = |test: &str| Case::new("ring3_bare", test).smp(smp);
        cases.extend([
            case("ring3_end_*"),
            case("ring3_turn_*"),
            case("ring3_spaces"),
            case("ring3_unmap_storm"),
            enough(case("ring3_registers"), all / 100).word("slice_us=30"),
        ]);
    }
    for (smp, part) in [(1, 45), (2, 45), (4, 10)] {
        let stepped = Case::new("ring3_bare", "ring3_registers_stepped").smp(smp);
        cases.push(enough(stepped, all * part / 100));
    }
    cases.push(Case::new("ring3_bare", "ring3_retire_on_the_move").word("slice_us=30"));
    cases.push(Case::new("ring3_bare", "ring3_null").smp(1));
    cases.push(
        Case::new("ring3_bare", "ring3_step_calls")
            .smp(1)
            .arg("stride", env("RINGO_STRIDE", 1)),
    );
    // Bugs that these tests must find: R10 and RFLAGS lost at an interrupt. (That a page others still reach is found is shown by
    // `ring3_memory`.)
    let planted = [
        ("ring3_registers_stepped", "caller-saved", 1),
        ("ring3_registers_stepped", "rflags", 4),
    ];
    for (test, name, bug) in planted {
        let mutant = Case::new("ring3_bare", test).named(name).kernel(injection);
        cases.push(
            mutant
                .arg("bug", bug)
                .arg("inj", 100_000)
                .expect(Expect::Failure),
        )
    }
    cases
}
