//! Registers of ring 3 over preemptions: what `regs.rs` does in the kernel, the same code in pages of a program.

use super::{CODE, DATA, EXECUTE, STACK_TOP, World, code, frame};
use crate::param::param;
use crate::regs::{CORRUPT, Frame, compare, hold, injected, random_state};
use crate::{Outcome, Test, ensure, figure};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use arch::UserExit;
use arch::bare::{TRAP_FLAG, UserContext, direct, step_all, step_interrupts};
use base::rng::Rng;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("ring3_registers", by_interrupts),
    ("ring3_registers_stepped", by_steps),
];

/// Where the code of `hold` lies, and where it returns to.
const HOLD: u64 = CODE + 0x1_0000;
/// More than its code has bytes.
const HOLD_BYTES: usize = 4096;

static STOP: AtomicBool = AtomicBool::new(false);
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// Holds random registers in ring 3 until told to stop.
fn hold_registers(seed: u64, loops: u64, flags: u64) -> Outcome {
    let world = World::new(code::all());
    let text = frame();
    // SAFETY: a fresh frame; constants of the kernel that it may show.
    unsafe {
        let from = (hold as *const ()).cast::<u8>();
        direct(text).copy_from_nonoverlapping(from, HOLD_BYTES)
    }
    world.map(HOLD, text, EXECUTE);
    let mut rng = Rng::new(seed);
    let blank = random_state(&mut rng, 1);
    // SAFETY: the data page, which nobody else uses while no thread runs.
    let shown = unsafe { &mut *direct(world.data).cast::<Frame>() };
    let (_, back) = world
        .space()
        .lookup(STACK_TOP - 8)
        .map(|(f, _)| (0, f))
        .ok_or("no stack")?;
    while !STOP.load(Relaxed) {
        shown.before = random_state(&mut rng, loops);
        shown.before.rflags |= flags;
        shown.after = blank;
        shown.after.st = [[0; 16]; 8];
        let mut thread = Box::new(UserContext::new(HOLD, STACK_TOP - 8, [DATA, 0]));
        // SAFETY: the word that `ret` takes, at the top of the stack's page.
        unsafe {
            direct(back)
                .add(4096 - 8)
                .cast::<u64>()
                .write(CODE + code::done() as u64)
        }
        let exit = world.run(&mut thread);
        if exit != UserExit::Syscall {
            return Err(format!("{exit:?} at {:#x}", thread.rip()));
        }
        compare(shown);
        ROUNDS.fetch_add(1, Relaxed);
    }
    Ok(())
}

/// `inj`: injected calls to wait for.
fn run(threads: usize, loops: u64, flags: u64) -> Outcome {
    let inj = param("inj", 10_000);
    crate::param::plant_bug();
    let before = injected();
    let gs: Vec<_> = (0..threads)
        .map(|i| spawn(move || hold_registers(1000 + i as u64, loops, flags)))
        .collect();
    while injected() - before < inj && CORRUPT.load(Relaxed) < 100 {
        sleep(Duration::from_millis(5))
    }
    let got = injected() - before;
    STOP.store(true, Relaxed);
    let results: Vec<_> = gs.into_iter().map(|g| g.join()).collect();
    figure!("injected", got);
    figure!("hold", ROUNDS.load(Relaxed));
    figure!("corrupt", CORRUPT.load(Relaxed));
    results.into_iter().collect::<Outcome>()?;
    let corrupt = CORRUPT.load(Relaxed);
    ensure!(
        corrupt == 0,
        "{corrupt} registers changed in {got} injected calls"
    );
    ensure!(ROUNDS.load(Relaxed) > 10, "nobody held registers");
    Ok(())
}

fn by_interrupts() -> Outcome {
    run(2 * num_cpu(), param("loops", 3000), 0)
}

fn by_steps() -> Outcome {
    step_all(num_cpu(), 16, 7);
    run(2 * num_cpu(), param("loops", 100), TRAP_FLAG)?;
    let stepped: u64 = (0..num_cpu()).map(step_interrupts).sum();
    figure!("stepped", stepped);
    ensure!(stepped > 0, "nobody stepped");
    Ok(())
}
