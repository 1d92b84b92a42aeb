//! The whole scheduler on random programs, under shuttle: `kernel/sched/tests/shuttle/`, built with `--cfg ringo_shuttle` in
//! `target/shuttle`. Shuttle takes each ordering for SeqCst, so bugs that are a missing fence stand in loom's table alone.
//!
//! A failure names its seed. It is run again, and its program printed, after one run of the tests, by
//! `RINGO_SEED=pct:179 target/shuttle/release/deps/shuttle-* --exact everything --nocapture`; with
//! `RINGO_SEEDS=0..100000` it looks for longer.

use crate::TURN;
use crate::harness::{Mutant, Program, in_parallel};

/// Which invariant a bug breaks first depends on the programs: without it all hold, so each is a finding.
const ANY: &str = "";

/// What the whole finds: bugs that loom's models find as well, and such as need more Ms, Gs or steps than loom can explore.
pub const MUTANTS: &[Mutant] = &[
    ("ring_get_no_cas", "everything", ANY),
    ("ring_steal_no_cas", "findrunnable", ANY),
    ("runnext_steal_no_cas", "timers_alone", ANY),
    ("overflow_no_cas", "wake_ups_alone", ANY),
    ("park_after_commit", "wake_ups_alone", ANY),
    ("no_recheck", "wake_ups_alone", ANY),
    ("stopm_no_look", "timers_alone", ANY),
    ("startm_no_needspinning", "wake_ups_alone", ANY),
    ("no_needspinning", "timers_alone", ANY),
    ("resetspinning_no_wakep", "wake_ups_alone", ANY),
    ("drop_while_stopping", "everything", ANY),
    ("transit_ignores_tray", "everything", ANY),
    ("tray_kept_without_p", "everything", ANY),
    ("tray_kept_at_stop", "everything", ANY),
    ("locked_keeps_p", "everything", ANY),
    ("reenter_anybodys", "findrunnable", ANY),
    ("retake_no_cas", "everything", ANY),
    // From here on: no model of loom's has them.
    ("look_then_count", "wake_ups_alone", ANY),
    ("keeper_leaves_deadline", "timers_alone", ANY),
    ("drain_no_woken", "everything", ANY),
    ("resize_keeps_timers", "everything", ANY),
    ("call_keeps_p", "findrunnable", ANY),
    ("fresh_slice_starves", "findrunnable", ANY),
    ("give_up_starts_all", "looks_alone", ANY),
];

static WHOLE: Program = Program::new(
    &["sched"],
    "shuttle",
    "--cfg ringo_shuttle -C debug-assertions=on",
);

#[test]
fn the_whole_holds() {
    let _one_at_a_time = TURN.lock();
    let models = WHOLE.list();
    let runs = in_parallel(&models, |model| model.run(None, None));
    println!("\n{:42} {:>24} {:>8}", "model", "explored", "seconds");
    let mut failed = vec![];
    for (model, ran) in models.iter().zip(&runs) {
        let explored = ran.report("RINGO-WHOLE ");
        if ran.passed && explored.starts_with("programs ") {
            println!("{:42} {explored:>34} {:8.1}", model.name, ran.seconds)
        } else {
            failed.push(format!("{}: {}\n{}", model.name, ran.finding(), ran.output))
        }
    }
    assert!(
        failed.is_empty(),
        "models that failed:\n{}",
        failed.join("\n")
    );
}

#[test]
fn bugs_in_the_whole_are_found() {
    let _one_at_a_time = TURN.lock();
    WHOLE.must_find(MUTANTS, &[])
}
