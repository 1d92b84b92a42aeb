//! What CPUs remember of an address space: nothing of a page that was taken out, and nothing of a space that has ended.

use super::{DATA, STACK_TOP, WRITE, World, code, frame};
use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use arch::UserExit::{Exception, Stopped};
use arch::bare::{UserContext, direct};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("ring3_unmap_storm", unmap_storm),
    ("ring3_spaces", spaces),
    ("ring3_retire_on_the_move", retire_on_the_move),
];

/// The page that comes and goes.
const PAGE: u64 = 0x70_0000;
/// What is written into a frame when no CPU can reach it any more (code.rs, `reader`).
const GONE: u64 = 0xdead_0000_0000;

/// A space whose page comes and goes, and what its readers say of it.
struct Storm {
    world: World,
    /// Enough was seen.
    done: AtomicBool,
    /// Reads that found no page.
    faults: AtomicU64,
    /// Set when the page is gone for good: whoever still reached it would never come back.
    stop: AtomicU32,
}

/// The word that readers read, in that frame.
fn word_of(frame: u64) -> &'static AtomicU64 {
    // SAFETY: a frame of this test, which frees none that it still looks at.
    unsafe { &*direct(frame).cast::<AtomicU64>() }
}

impl Storm {
    /// Reader `i`: reads the page until all is done, and says if it reached one that was gone.
    fn read(&self, i: usize) -> Outcome {
        // Each counts in words of its own; the second one says what to read.
        let data = DATA + 64 * i as u64;
        self.world.word(8 * i + 1).store(PAGE, Relaxed);
        let code = super::CODE + code::reader() as u64;
        let mut thread = Box::new(UserContext::new(code, STACK_TOP - 8, [data, 0]));
        loop {
            match thread.run(self.world.space(), &self.stop) {
                Exception {
                    vector: 14,
                    address: PAGE,
                    ..
                } => {
                    self.faults.fetch_add(1, Relaxed);
                    yield_now() // to whoever takes it out and puts it back
                }
                Stopped => {}
                other => {
                    self.done.store(true, Relaxed); // that is enough
                    return Err(format!("{other:?}: a page was reached that is gone"));
                }
            }
            if self.done.load(Relaxed) {
                return Ok(());
            }
        }
    }

    /// Puts another frame in the page's place `rounds` times. At the end there is none.
    fn replace(&self, rounds: u64) -> Outcome {
        let space = self.world.space();
        let mut mapped = frame();
        word_of(mapped).store(1, Relaxed);
        self.world.map(PAGE, mapped, WRITE);
        for round in 0..rounds {
            if self.done.load(Relaxed) {
                break;
            }
            if round % 16 == 0 {
                yield_now() // the readers have a CPU too, where there is one
            }
            let next = frame();
            word_of(next).store(1, Relaxed);
            // SAFETY: this goroutine alone changes the space.
            let taken = unsafe { space.unmap(PAGE) };
            ensure!(
                taken == Some(mapped),
                "{taken:x?} was mapped, not {mapped:#x}"
            );
            space.shoot_down();
            word_of(mapped).store(GONE, SeqCst);
            self.world.map(PAGE, next, WRITE);
            // SAFETY: unmapped, and forgotten by all.
            unsafe { mem::frames::free(core::mem::replace(&mut mapped, next)) }
        }
        // SAFETY: as above. It stays out: who reads it now comes back.
        let last = unsafe { space.unmap(PAGE) };
        self.done.store(true, SeqCst);
        self.stop.store(1, SeqCst);
        space.shoot_down();
        // SAFETY: as above.
        last.into_iter()
            .for_each(|frame| unsafe { mem::frames::free(frame) });
        Ok(())
    }
}

/// `rounds`: how often the page is taken out while threads on all CPUs read it. None sees what is written into its frame
/// afterwards.
fn unmap_storm() -> Outcome {
    let rounds = param("rounds", 500);
    crate::param::plant_bug();
    let storm = Arc::new(Storm {
        world: World::new(code::all()),
        done: AtomicBool::new(false),
        faults: AtomicU64::new(0),
        stop: AtomicU32::new(0),
    });
    let readers: Vec<_> = (0..num_cpu() + 1)
        .map(|i| {
            let storm = storm.clone();
            spawn(move || storm.read(i))
        })
        .collect();
    storm.replace(rounds)?;
    let results: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
    figure!("rounds", rounds);
    figure!("faults", storm.faults.load(Relaxed));
    results.into_iter().collect::<Result<(), _>>()?;
    let reads: u64 = (0..num_cpu() + 1)
        .map(|i| storm.world.word(8 * i).load(Relaxed))
        .sum();
    figure!("reads", reads);
    ensure!(reads > rounds, "{reads} reads only");
    Ok(())
}

/// `rounds` spaces made, run in and ended on each CPU, beside others that hold theirs; the memory comes back.
fn spaces() -> Outcome {
    let rounds = param("rounds", 500);
    let one = |rounds| {
        for _ in 0..rounds {
            let world = World::new(code::all());
            let (exit, _) = world.once(code::undefined());
            if !matches!(exit, Exception { vector: 6, .. }) {
                return Err(format!("{exit:?}"));
            }
            yield_now()
        }
        Ok(())
    };
    let all = |rounds| -> Outcome {
        let programs: Vec<_> = (0..2 * num_cpu())
            .map(|_| spawn(move || one(rounds)))
            .collect();
        programs.into_iter().try_for_each(|p| p.join())
    };
    all(10)?; // stacks and caches are there
    let before = mem::frames::free_frames();
    all(rounds)?;
    let after = mem::frames::free_frames();
    figure!("frames_before", before);
    figure!("frames_after", after);
    ensure!(
        after + 64 * num_cpu() as u64 > before,
        "{before} frames were free, {after} are"
    );
    Ok(())
}

/// `rounds` spaces that every CPU holds are ended by a goroutine that is moved from one CPU to another all the time, by short slices and
/// others that want theirs: each CPU lets go, also the one that it comes from or goes to meanwhile (I-HOLD, checked by `retire`).
fn retire_on_the_move() -> Outcome {
    let rounds = param("rounds", 1000);
    let done = Arc::new(AtomicBool::new(false));
    let others: Vec<_> = (0..2 * num_cpu())
        .map(|_| {
            let done = done.clone();
            spawn(move || {
                while !done.load(Relaxed) {
                    core::hint::spin_loop()
                }
            })
        })
        .collect();
    for _ in 0..rounds {
        let world = Arc::new(World::new(code::all()));
        let runs: Vec<_> = (0..2 * num_cpu())
            .map(|_| {
                let world = world.clone();
                spawn(move || drop(world.once(code::undefined())))
            })
            .collect();
        runs.into_iter().for_each(|run| run.join());
        drop(world)
    }
    done.store(true, Relaxed);
    others.into_iter().for_each(|other| other.join());
    Ok(())
}
