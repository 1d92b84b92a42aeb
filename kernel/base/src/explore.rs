//! How the model checker explores a model.

use std::cell::Cell;

/// Explores all interleavings of `f` with at most `preemptions` switches of a thread that could have gone on, and says how
/// many there were. loom's environment variables win.
///
/// # Panics
/// If the model fails.
pub fn explore(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    thread_local! {
        static RUNS: Cell<u64> = const { Cell::new(0) };
    }
    let mut b = loom::model::Builder::new();
    b.preemption_bound.get_or_insert(preemptions);
    b.max_branches = 8_000;
    let bound = b.preemption_bound.unwrap_or(0);
    RUNS.set(0);
    b.check(move || {
        RUNS.set(RUNS.get() + 1);
        f()
    });
    let runs = RUNS.get();
    println!("RINGO-MODEL interleavings {runs} preemptions {bound}");
}
