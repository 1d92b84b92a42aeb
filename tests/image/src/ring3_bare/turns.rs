//! Ring 3 loses its CPU like any goroutine, and its stop word ends it.

use super::{World, code};
use crate::{Outcome, Test, ensure, figure};
use alloc::sync::Arc;
use alloc::vec::Vec;
use arch::bare::UserExit::{Stopped, Syscall};
use core::sync::atomic::Ordering::*;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("ring3_turn_taken", turns), ("ring3_turn_spaces", switches)];

/// Two loops without a call for each CPU, each in a space of its own, beside goroutines of the kernel.
fn turns() -> Outcome {
    let count = 2 * num_cpu();
    let burners: Vec<_> = (0..count)
        .map(|_| {
            let world = Arc::new(World::new(code::all()));
            let thread = Arc::new(SharedThread(world.thread(code::burn())));
            let (w, t) = (world.clone(), thread.clone());
            // SAFETY: nobody else runs this thread; others set its stop word only.
            let burner = spawn(move || unsafe { t.get().run(w.space()) });
            (world, thread, burner)
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
    for (_, thread, burner) in burners {
        thread.0.stop();
        let exit = burner.join();
        ensure!(exit == Stopped, "{exit:?} of a stopped program");
    }
    Ok(())
}

/// A thread whose stop word others set while it runs.
struct SharedThread(alloc::boxed::Box<arch::bare::UserContext>);
// SAFETY: registers are its own goroutine's, the stop word is atomic.
unsafe impl Sync for SharedThread {}
impl SharedThread {
    /// # Safety
    /// For the one goroutine that runs it.
    #[allow(clippy::mut_from_ref)]
    unsafe fn get(&self) -> &mut arch::bare::UserContext {
        // SAFETY: the caller's.
        unsafe { &mut *(&raw const *self.0).cast_mut() }
    }
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
                    let exit = thread.run(world.space());
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
