//! Preemption and its requests.

use crate::param::param;
use crate::wait::{bump, chance, spin};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use base::PreemptGuard;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::{counts, slice};
use ringo::prelude::*;

pub const TESTS: &[Test] = &[
    ("preempt_ipi_storm", preempt_ipi_storm),
    ("preempt_guard_holds", preempt_guard_holds),
    ("preempt_coop", preempt_coop),
    ("preempt_gofn", preempt_gofn),
    ("preempt_forced_everywhere", preempt_forced_everywhere),
];

static CPUS: [OnceLock<arch::CpuRef>; arch::MAX_CPUS] = [const { OnceLock::new() }; arch::MAX_CPUS];

/// Interrupts a CPU, for nothing.
pub fn poke_one(rng: &mut base::rng::Rng) {
    {
        let _here = PreemptGuard::new();
        CPUS[arch::cpu_id()].get_or_init(arch::cpu_ref);
    }
    if let Some(cpu) = CPUS[rng.below(num_cpu() as u32) as usize].get() {
        arch::wake_cpu(*cpu)
    }
}

/// awkernel #136, #411: requests that come for a G that has already gone cost no other G its fresh slice. A storm of
/// reschedule IPIs; what ends slices stays the clock alone.
fn preempt_ipi_storm() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static SENT: AtomicU64 = AtomicU64::new(0);
    static RUNNING: AtomicU64 = AtomicU64::new(0);
    let want = param("ipis", 20_000);
    let before = counts().preemptions;
    let begin = Instant::now();
    let mut gs: Vec<_> = (0..2 * sched::gomaxprocs() as u64)
        .map(|i| {
            spawn(move || {
                let mut rng = chance(i);
                let mut n = 0u64;
                while !STOP.load(Relaxed) {
                    spin(rng.below(500));
                    n += 1;
                    if n == 1 {
                        bump(&RUNNING);
                    }
                }
                n
            })
        })
        .collect();
    let loops = gs.len() as u64;
    gs.push(spawn(move || {
        let mut rng = chance(99);
        // Each loop has its turn, or this never ends.
        while SENT.load(Relaxed) < want || RUNNING.load(Relaxed) < loops {
            poke_one(&mut rng);
            spin(rng.below(200));
            bump(&SENT);
        }
        STOP.store(true, Relaxed);
        want
    }));
    let done: Vec<u64> = gs.into_iter().map(|g| g.join()).collect();
    let slices = begin.elapsed().as_secs_f64() / slice().as_secs_f64() * sched::gomaxprocs() as f64;
    let preemptions = counts().preemptions - before;
    figure!("ipis", SENT.load(Relaxed));
    figure!("preemptions", preemptions);
    figure!("slices", format!("{slices:.1}"));
    figure!("least_rounds", done.iter().min().unwrap_or(&0));
    ensure!(
        preemptions as f64 <= slices + 2.0,
        "{preemptions} preemptions in {slices:.1} slices"
    );
    Ok(())
}

/// A preemption that comes while a guard lives is done at its drop, not before. Goes on until that has been seen often.
fn preempt_guard_holds() -> Outcome {
    static INSIDE: AtomicU64 = AtomicU64::new(0);
    static AT_DROP: AtomicU64 = AtomicU64::new(0);
    static SECTIONS: AtomicU64 = AtomicU64::new(0);
    let want = param("drops", 40);
    let procs = sched::gomaxprocs() as u64;
    // One more than there are Ps: somebody always waits, and every slice has an end.
    let gs: Vec<_> = (0..=procs)
        .map(|_| {
            spawn(move || {
                while AT_DROP.load(Relaxed) < want {
                    let guard = PreemptGuard::new();
                    assert!(
                        INSIDE.fetch_add(1, SeqCst) < procs,
                        "more in guarded sections than there are Ps"
                    );
                    let (begin, me, cpu) = (Instant::now(), current().id(), arch::cpu_id());
                    while begin.elapsed() < slice() * 3 {
                        assert!(
                            arch::cpu_id() == cpu && current().id() == me,
                            "a guard did not hold"
                        );
                        spin(100);
                    }
                    INSIDE.fetch_sub(1, SeqCst);
                    let of_this_cpu = || sched::this().allm[cpu].stats.preemptions.load(Relaxed);
                    let before = of_this_cpu();
                    drop(guard);
                    AT_DROP.fetch_add((of_this_cpu() > before).into(), Relaxed);
                    bump(&SECTIONS);
                }
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    figure!("at_drop", AT_DROP.load(Relaxed));
    figure!("sections", SECTIONS.load(Relaxed));
    Ok(())
}

/// `preempt=coop`: a loop that calls `checkpoint` gives way at the end of its slice, one that calls nothing keeps it.
fn preempt_coop() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    for _ in 0..sched::gomaxprocs() {
        go(|| {
            while !STOP.load(Relaxed) {
                spin(100);
                checkpoint();
            }
        });
    }
    let before = counts().preemptions;
    // That they give way at all is what ends this loop.
    while counts().preemptions - before < param("turns", 20) {
        yield_now()
    }
    let polite = counts().preemptions - before;
    STOP.store(true, Relaxed);
    crate::wait::until(|| num_goroutine() == 1);
    // Now loops without a call: nobody but they themselves may end them.
    static SPUN: AtomicU64 = AtomicU64::new(0);
    let before = counts().preemptions;
    let gs: Vec<_> = (0..2 * sched::gomaxprocs())
        .map(|_| {
            spawn(|| {
                let begin = Instant::now();
                while begin.elapsed() < slice() * 4 {
                    spin(100)
                }
                bump(&SPUN);
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
    let rude = counts().preemptions - before;
    figure!("polite", polite);
    figure!("rude", rude);
    ensure!(
        rude <= SPUN.load(Relaxed),
        "{rude} preemptions of {} loops without a call: more than the one each at its end",
        SPUN.load(Relaxed)
    );
    Ok(())
}

gofn! {
    /// What a loop calls that gives way under `preempt=coop`.
    #[inline(never)]
    fn polite(n: u32) -> u32 {
        spin(n);
        core::hint::black_box(n)
    }
}

/// The same work, without the look.
#[inline(never)]
fn rude(n: u32) -> u32 {
    spin(n);
    core::hint::black_box(n)
}

/// `preempt=coop`: a loop that calls a `gofn!` function gives way at the end of its slice, one that calls another keeps its
/// CPU. Go: the prologue's check of versions 1.2 to 1.13.
fn preempt_gofn() -> Outcome {
    /// Loops until it has lost its CPU `times` times, but not for ever; how often it did, and how long that took.
    fn given(f: fn(u32) -> u32, times: u64, limit: Duration) -> (u64, Duration) {
        let s = sched::this();
        // Not by `counts`, which is a call into the scheduler itself.
        let preemptions = || -> u64 {
            let all = s.allm.iter().map(|m| m.stats.preemptions.load(Relaxed));
            all.sum()
        };
        let (begin, before) = (Instant::now(), preemptions());
        while begin.elapsed() < limit && preemptions() - before < times {
            f(200);
        }
        (preemptions() - before, begin.elapsed())
    }
    gomaxprocs(1);
    let (given_by, took) = given(polite, 4, slice() * 2000);
    let (kept_by, _) = given(rude, 4, took);
    figure!("polite", given_by);
    figure!("rude", kept_by);
    ensure!(
        given_by == 4,
        "a loop with such calls gave way {given_by} times"
    );
    ensure!(
        kept_by <= 1,
        "a loop without such calls gave way {kept_by} times"
    );
    Ok(())
}

/// Every fault point forces a safe point, on top of the shortest slices: a program of everything still computes right.
fn preempt_forced_everywhere() -> Outcome {
    for name in trace::points::NAMES {
        trace::points::arm(name, trace::points::Action::Preempt).map_err(|e| e.to_string())?;
    }
    crate::stress::everything(param("size", 1), 1)
}
