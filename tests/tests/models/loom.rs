//! Small models, explored by loom in all interleavings: in `tests/loom/` of `kernel/sched`, `csp`, `net` and `user` and in `userspace/rt`, built with
//! `--cfg ringo_loom` in `target/loom`. By hand:
//! `RUSTFLAGS="--cfg ringo_loom" RINGO_MUTANT=no_recheck cargo test --release --target-dir target/loom -p sched --test loom --
//! --exact idle::make_against_idle`.

use crate::TURN;
use crate::harness::{Program, in_parallel};
use crate::planted::{MUTANTS, REVIEWED};

static LOOM: Program = Program::new(
    &["sched", "csp", "net", "user", "rt"],
    "loom",
    "--cfg ringo_loom",
);

#[test]
fn models_hold() {
    let _one_at_a_time = TURN.lock();
    let models = LOOM.list();
    let runs = in_parallel(&models, |model| model.run(None, None));
    println!(
        "\n{:42} {:>14} {:>12} {:>8}",
        "model", "interleavings", "preemptions", "seconds"
    );
    let mut failed = vec![];
    for (model, ran) in models.iter().zip(&runs) {
        let words: Vec<&str> = ran.report("RINGO-MODEL ").split_whitespace().collect();
        match words[..] {
            [_, n, _, k] if ran.passed => {
                println!("{:42} {n:>14} {k:>12} {:8.1}", model.name, ran.seconds)
            }
            _ => failed.push(format!("{}: {}\n{}", model.name, ran.finding(), ran.output)),
        }
    }
    assert!(
        failed.is_empty(),
        "models that failed:\n{}",
        failed.join("\n")
    );
}

#[test]
fn planted_bugs_are_found() {
    let _one_at_a_time = TURN.lock();
    LOOM.must_find(MUTANTS, &[1, 2]);
    for (mutant, why) in REVIEWED {
        println!("{mutant:26} reviewed, not tested: {why}")
    }
}
