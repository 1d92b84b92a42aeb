//! Ring 3 loses its CPU like any goroutine, and its stop word ends it.

use super::{World, code};
use crate::{Outcome, Test, ensure, figure};
use alloc::sync::Arc;
use alloc::vec::Vec;
use arch::UserExit::{Exception, Stopped, Syscall};
use core::sync::atomic::{AtomicU32, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("ring3_turn_taken", turns),
    ("ring3_turn_spaces", switches),
    ("ring3_turn_fpu", faults_and_calls),
];

/// Two loops without a call for each CPU, each in a space of its own, beside goroutines of the kernel.
fn turns() -> Outcome {
    let count = 2 * num_cpu();
    let burners: Vec<_> = (0..count)
        .map(|_| {
            let world = Arc::new(World::new(code::all()));
            let stop = Arc::new(AtomicU32::new(0));
            let (w, s) = (world.clone(), stop.clone());
            let burner = spawn(move || w.thread(code::burn()).run(w.space(), &s));
            (world, stop, burner)
        })
        .collect();
    let kernel = Arc::new(core::sync::atomic::AtomicU64::new(0));
    let done = Arc::new(core::sync::atomic::AtomicBool::new(false));
    let (k, d) = (kernel.clone(), done.clone());
    go(move || {
        while !d.load(Relaxed) {
            k.fetch_add(1, Relaxed);
            yield_now()
        }
    });
    let counts = || burners.iter().map(|(w, ..)| w.word(0).load(Relaxed));
    // Each gets on, twice.
    for _ in 0..2 {
        let before: Vec<u64> = counts().collect();
        while counts().zip(&before).any(|(now, before)| now == *before) {
            sleep(Duration::from_millis(1))
        }
    }
    figure!("kernel_turns", kernel.load(Relaxed));
    ensure!(kernel.load(Relaxed) > 0, "no goroutine of the kernel ran");
    done.store(true, Relaxed);
    for (_, stop, burner) in burners {
        stop.store(1, SeqCst);
        let exit = burner.join();
        ensure!(exit == Stopped, "{exit:?} of a stopped program");
    }
    Ok(())
}

/// Programs that call all the time and give way in each call, so that a CPU goes from one space to the next; and they move
/// between CPUs.
fn switches() -> Outcome {
    const ROUNDS: u64 = 2000;
    let programs: Vec<_> = (0..3 * num_cpu())
        .map(|_| {
            spawn(|| {
                let world = World::new(code::all());
                let mut thread = world.thread(code::slow());
                for round in 1..=ROUNDS {
                    let exit = world.run(&mut thread);
                    if exit != Syscall || thread.number() != 100 {
                        return Err(alloc::format!("{exit:?} in round {round}"));
                    }
                    yield_now()
                }
                Ok(())
            })
        })
        .collect();
    for program in programs {
        program.join()?
    }
    Ok(())
}

/// Programs that are interrupted by page faults with all registers in use, and make calls in between; others get the CPU each time,
/// and the programs move on to another one. `rounds`: of each.
fn faults_and_calls() -> Outcome {
    /// The page that comes and goes.
    const PAGE: u64 = 0x70_0000;
    let rounds = crate::param::param("rounds", 1000);
    let one = move || {
        let world = World::new(code::all());
        let page = super::frame();
        let at = super::CODE + code::fault_and_call() as u64;
        let mut thread =
            arch::bare::UserContext::new(at, super::STACK_TOP - 8, [super::DATA, PAGE]);
        for round in 0..rounds {
            let exit = world.run(&mut thread);
            if !matches!(
                exit,
                Exception {
                    vector: 14,
                    address: PAGE,
                    ..
                }
            ) {
                return Err(alloc::format!("{exit:?}, no fault, in round {round}"));
            }
            yield_now();
            world.map(PAGE, page, super::WRITE);
            let exit = world.run(&mut thread);
            if exit != Syscall {
                return Err(alloc::format!("{exit:?}, no call, in round {round}"));
            }
            yield_now();
            // SAFETY: this goroutine alone changes the space.
            unsafe { world.space().unmap(PAGE) };
            world.space().shoot_down()
        }
        // SAFETY: unmapped, and forgotten by all.
        unsafe { mem::frames::free(page) };
        Ok(())
    };
    let programs: Vec<_> = (0..num_cpu() + 1).map(|_| spawn(one)).collect();
    programs.into_iter().try_for_each(|program| program.join())
}
