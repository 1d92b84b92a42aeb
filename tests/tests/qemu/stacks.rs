//! Stacks that grow by page fault, and what happens at their end.

use tests::{Case, Outcome};

pub fn cases() -> Vec<Case> {
    let new = |test| Case::new("stacks", test);
    let mut all = vec![
        new("stack_growth").smp(1),
        new("stack_growth").smp(4).word("slice_us=100"),
        new("stack_growth")
            .named("16 KiB")
            .word("stack_kib=16")
            .word("slice_us=100"),
        new("stack_growth")
            .named("1 MiB")
            .word("stack_kib=1024")
            .arg("gs", 40),
        new("stack_nested").smp(1).word("slice_us=20"),
        new("stack_nested")
            .smp(2)
            .word("slice_us=20")
            .arg("nested", 1500),
        new("stack_nested").smp(4).word("slice_us=20"),
        new("stack_page_1"),
    ];
    for (smp, gs) in [(1, 30_000), (4, 100_000)] {
        let giga = |m: &mut ringo_runner::Machine| m.mem_bytes = 1 << 30;
        all.push(new("hundred_thousand").smp(smp).arg("gs", gs).machine(giga));
    }
    for smp in [1, 2] {
        for test in [
            "stack_overflow",
            "stack_overflow_main",
            "stack_overflow_array",
            "stack_overflow_page_1",
        ] {
            all.push(
                new(test)
                    .smp(smp)
                    .exit(2)
                    .judge(names_the_goroutine)
                    .says("#0 0xffffffff8"),
            );
        }
    }
    all
}

/// The report is about the goroutine that said before that it would.
fn names_the_goroutine(o: &Outcome) -> Result<(), String> {
    let said = o
        .stdout
        .lines()
        .find_map(|l| l.trim_end().strip_prefix("overflow in goroutine "));
    let id = said.ok_or("nobody said who would overflow")?;
    for line in [
        format!("stack overflow: goroutine {id} used up its 256 KiB of stack"),
        format!("goroutine {id} [running]:"),
    ] {
        if !o.stderr.contains(&line) {
            return Err(format!("the report does not say \"{line}\""));
        }
    }
    Ok(())
}
