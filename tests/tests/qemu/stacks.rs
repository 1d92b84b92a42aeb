//! Stacks that grow by page fault, and what happens at their end.

use tests::Case;

pub fn cases() -> Vec<Case> {
    let new = |test| Case::new("stacks", test);
    let mut all = vec![
        new("stack_growth").smp(1),
        new("stack_growth").smp(4).word("slice_us=100"),
        new("stack_growth").named("16 KiB").word("stack_kib=16").word("slice_us=100"),
        new("stack_growth").named("1 MiB").word("stack_kib=1024").arg("gs", 40),
        new("stack_nested").smp(1).word("slice_us=20"),
        new("stack_nested").smp(2).word("slice_us=20").arg("nested", 3000),
        new("stack_nested").smp(4).word("slice_us=20"),
        new("stack_page_1"),
    ];
    for smp in [1, 4] {
        let giga = |m: &mut ringo_runner::Machine| m.mem_bytes = 1 << 30;
        all.push(new("hundred_thousand").smp(smp).machine(giga));
    }
    for smp in [1, 2] {
        for (test, g) in [
            ("stack_overflow", 2),
            ("stack_overflow_main", 1),
            ("stack_overflow_array", 2),
            ("stack_overflow_page_1", 2),
        ] {
            let named = format!("stack overflow: goroutine {g} used up its 256 KiB of stack");
            all.push(new(test).smp(smp).exit(2).says(&named).says("#0 0xffffffff8"));
        }
    }
    all
}
