//! Interrupts between CPUs that are lost, and CPUs that stand still. Go has no test of these.

use crate::param::param;
use crate::wait::{bump, spin, until};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;
use trace::points::{self, Action};

pub const TESTS: &[Test] = &[
    ("ipi_lost", ipi_lost),
    ("cpu_stands_still", cpu_stands_still),
];

/// Every interrupt that is to end a CPU's halt is lost. sysmon tells it again; nothing waits for ever.
fn ipi_lost() -> Outcome {
    points::arm("wake.ipi", Action::Lose).map_err(|e| e.to_string())?;
    let halts = param("halts", 20);
    let mut wakes = 0;
    // Some find the other CPU on its way to the halt, or back: more of them the less the host lets it run.
    while points::hits("wake.ipi") < halts / 2 {
        crate::pairs::through_halts(halts);
        wakes += halts
    }
    let lost = points::hits("wake.ipi");
    points::arm("wake.ipi", Action::Off).map_err(|e| e.to_string())?;
    figure!("lost", lost);
    figure!("wakes", wakes);
    Ok(())
}

/// A CPU stands still for 50 ms, as one whose host has taken it off, at each fault point in turn: with locks held, and in the
/// middle of everything that takes several steps. The others go on or wait; nothing is lost.
fn cpu_stands_still() -> Outcome {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut stood = 0;
    for (i, name) in points::NAMES.iter().enumerate() {
        let before = points::hits(name);
        let over = Arc::new(AtomicBool::new(false));
        let theirs = over.clone();
        points::arm(name, Action::DelayNs(50_000_000)).map_err(|e| e.to_string())?;
        let work = spawn(move || {
            let calls = spawn(|| {
                for _ in 0..10 {
                    blocking(|| spin(500));
                    bump(&CALLS);
                    yield_now()
                }
            });
            let outcome = crate::wake::network(4, param("steps", 60), 1000 + i as u64);
            calls.join();
            crate::wake::idle_and_overflow(20);
            theirs.store(true, Release);
            outcome
        });
        until(|| points::hits(name) > before || over.load(Acquire));
        points::arm(name, Action::Off).map_err(|e| e.to_string())?;
        work.join()?;
        stood += points::hits(name) - before;
    }
    figure!("stood_still", stood);
    ensure!(stood >= 5, "a CPU stood still {stood} times only");
    Ok(())
}
