//! Every test that needs a machine. `cargo test -p tests --test qemu -- wake` runs those of one area.

mod regs;
mod wake;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = libtest_mimic::Arguments::from_args();
    let cases = [regs::cases(), wake::cases()];
    let trials = cases.into_iter().flatten().map(tests::Case::trial).collect();
    let conclusion = libtest_mimic::run(&args, trials);
    tests::summary();
    conclusion.exit_code()
}
