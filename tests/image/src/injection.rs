//! The tests that find planted bugs, in an image that has them to choose from: `bug=N`.
#![no_std]
#![no_main]
#![allow(dead_code, reason = "of what all tests share, these need a part")]

extern crate alloc;

mod core_walk;
mod hangs;
mod param;
mod regs;
#[cfg(ringo_kernel)]
mod ring3_bare;
#[cfg(ringo_kernel)]
mod ring3_memory;
mod run;
mod stacks;
mod step;
mod wait;

use run::{Outcome, Run, Test};
ringo::main!(main);

fn main() -> Outcome {
    let all = [hangs::TESTS, regs::TESTS, stacks::TESTS];
    run::run(|| {
        let all = all.into_iter().flatten();
        #[cfg(ringo_kernel)]
        let all = all
            .chain(ring3_bare::TESTS.iter().copied().flatten())
            .chain(ring3_memory::TESTS);
        all.map(|&(name, f)| (name, Run::Answers(f)))
    })
}
