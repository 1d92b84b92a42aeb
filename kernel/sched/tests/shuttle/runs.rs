//! Seeds: each is run under shuttle's random scheduler or under PCT, which changes priorities at a few random points (Burckhardt
//! and others, "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs").
//!
//! | variable | what |
//! |---|---|
//! | `RINGO_SEEDS=FROM..TO` | the seeds; half of them under each scheduler |
//! | `RINGO_SEED=random:N`, `pct:N` | that one alone, with its program |
//! | `RINGO_MUTANT=NAME` | a planted bug |

use crate::machine;
use crate::program::{Program, Without};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Programs of one seed. (The first one under PCT runs the oldest task first, to learn how long such a run is.)
const PROGRAMS: usize = 10;
/// Priority changes of one run under PCT, and one.
const PCT_DEPTH: usize = 6;
/// Steps of one run at most; a run that needs more never ends. The longest seen has about a tenth.
const MAX_STEPS: usize = 400_000;
/// After so many looks at clock and CPUs' blocks it says how it stands.
pub const LATE: usize = MAX_STEPS / 25;

/// Run so many seeds where nothing else is said, and print how many programs and steps those were. Each planted bug is found by
/// far fewer in most ranges.
pub fn explore(without: Without, seeds: u64) {
    let steps = Arc::new(AtomicU64::new(0));
    let programs = Arc::new(AtomicU64::new(0));
    for (kind, seed) in chosen(seeds) {
        let (steps, programs) = (steps.clone(), programs.clone());
        let first = programs.load(Relaxed);
        let alone = std::env::var_os("RINGO_SEED").is_some();
        let counts = programs.clone();
        let body = move || {
            programs.fetch_add(1, Relaxed);
            let program = Program::any(without);
            if alone {
                println!("{program:#?}")
            }
            machine::run(program);
            steps.fetch_add(shuttle::current::context_switches() as u64, Relaxed);
        };
        let ran = catch_unwind(AssertUnwindSafe(|| match kind {
            "pct" => run(PctScheduler::new_from_seed(seed, PCT_DEPTH, PROGRAMS), body),
            _ => run(RandomScheduler::new_from_seed(seed, PROGRAMS), body),
        }));
        if let Err(panic) = ran {
            let n = counts.load(Relaxed) - first;
            eprintln!("RINGO-WHOLE failed: RINGO_SEED={kind}:{seed}, its program number {n}");
            resume_unwind(panic)
        }
    }
    let (programs, steps) = (programs.load(Relaxed), steps.load(Relaxed));
    println!("RINGO-WHOLE programs {programs} steps {steps}")
}

fn run(scheduler: impl Scheduler + 'static, body: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    config.silence_warnings = true;
    config.stack_size = 256 << 10;
    Runner::new(scheduler, config).run(body);
}

/// Which scheduler with which seed.
fn chosen(seeds: u64) -> Vec<(&'static str, u64)> {
    const WRONG: &str = "RINGO_SEED is random:N or pct:N, RINGO_SEEDS is FROM..TO";
    if let Ok(one) = std::env::var("RINGO_SEED") {
        let (kind, seed) = one.split_once(':').expect(WRONG);
        let kind = *["random", "pct"].iter().find(|k| **k == kind).expect(WRONG);
        return vec![(kind, seed.parse().expect(WRONG))];
    }
    let range = std::env::var("RINGO_SEEDS").unwrap_or_else(|_| format!("0..{seeds}"));
    let (from, to) = range.split_once("..").expect(WRONG);
    let range: std::ops::Range<u64> = from.parse().expect(WRONG)..to.parse().expect(WRONG);
    range
        .map(|n| (if n % 2 == 0 { "random" } else { "pct" }, n))
        .collect()
}
