//! Registers over injected calls, and builds with a planted bug that must fail that test.

use tests::{Case, Expect, mutant};

fn registers() -> Case {
    Case::new("registers", "registers").word("slice_us=100")
}

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        registers().smp(1).arg("inj", 100_000).limit(600),
        registers().smp(4).arg("inj", 400_000).limit(600),
        registers().smp(2).arg("inj", 600_000).limit(600),
    ];
    for bug in ["caller_saved", "fxsave", "redzone", "rflags"] {
        all.push(
            registers()
                .named(bug)
                .kernel(move || mutant(bug))
                .arg("inj", 20_000)
                .expect(Expect::Failure)
                .says("CORRUPT"),
        );
    }
    all
}
