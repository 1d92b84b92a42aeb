//! An interrupt at each instruction of a program's calls: in ring 3, in the entry, in the kernel, on the way back.

use super::{World, code};
use crate::step::one_later_each_time;
use crate::{Outcome, Test, ensure};
use arch::UserExit::Syscall;
use arch::bare::{TRAP_FLAG, step_syscalls};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("ring3_step_calls", step_calls)];

/// A quick call, another one, and the registers over both.
fn both_calls(world: &World) -> Outcome {
    let mut thread = world.thread(code::calls());
    thread.set_flags(TRAP_FLAG);
    let exit = world.run(&mut thread);
    ensure!(
        (exit, thread.number()) == (Syscall, 100),
        "{exit:?} at {:#x}",
        thread.rip()
    );
    thread.set_result(-77);
    let exit = world.run(&mut thread);
    ensure!(
        (exit, thread.number()) == (Syscall, 101),
        "{exit:?} at {:#x}",
        thread.rip()
    );
    Ok(())
}

/// One CPU. `stride`: instructions between two that are interrupted.
fn step_calls() -> Outcome {
    let world = World::new(code::all());
    both_calls_without_steps(&world)?;
    step_syscalls(true);
    let (at, result) = one_later_each_time(|| both_calls(&world));
    step_syscalls(false);
    result?;
    ensure!(at > 200, "it ended after {at} instructions");
    Ok(())
}

/// A program that sets the trap flag itself, with nobody stepping, is one with an exception; so not here.
fn both_calls_without_steps(world: &World) -> Outcome {
    let (exit, _) = world.once(code::calls());
    ensure!(exit == Syscall, "{exit:?}");
    yield_now();
    Ok(())
}
