//! What the way into the kernel and back costs, against the pair of instructions alone.

use super::{CODE, DATA, STACK_TOP, World, code};
use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use arch::UserExit;
use arch::bare::{UserContext, with_bare_syscall};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("ring3_null", null)];

/// Picoseconds for each of `calls` quick calls.
fn timed(world: &World, calls: u64) -> (u64, UserExit) {
    let at = CODE + code::quick() as u64;
    let mut thread = UserContext::new(at, STACK_TOP - 8, [DATA, calls]);
    thread.set_answer(0, 0);
    let begin_ns = arch::now_ns();
    let exit = world.run(&mut thread);
    ((arch::now_ns() - begin_ns) * 1000 / calls, exit)
}

/// The null system call against `syscall` and `sysret` alone, in turn: the fastest of 20 rounds each, since the host takes time away
/// and never gives any; more of them, up to `rounds`, while it does not show.
fn null() -> Outcome {
    let (rounds, calls) = (param("rounds", 400), param("calls", 20_000));
    let world = World::new(code::all());
    lock_to_cpu();
    let (mut null_ps, mut bare_ps) = (u64::MAX, u64::MAX);
    for round in 0..rounds {
        if round >= 20 && 2 * null_ps < 3 * bare_ps {
            break;
        }
        let (ps, exit) = timed(&world, calls);
        ensure!(exit == UserExit::Syscall, "{exit:?}");
        null_ps = null_ps.min(ps);
        let (ps, exit) = with_bare_syscall(|| timed(&world, calls));
        ensure!(
            matches!(exit, UserExit::Exception { vector: 6, .. }),
            "{exit:?} of the bare pair"
        );
        bare_ps = bare_ps.min(ps);
    }
    unlock_from_cpu();
    figure!("null_ps", null_ps);
    figure!("bare_ps", bare_ps);
    figure!("percent", 100 * null_ps / bare_ps);
    ensure!(
        2 * null_ps < 3 * bare_ps,
        "a null system call takes {null_ps} ps, the bare pair {bare_ps}"
    );
    Ok(())
}
