//! What the models share.

use base::shim::Cell;
use sched::models::run_gs;
use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    /// What has come to pass in any interleaving so far. Beside the model: adds nothing to it.
    static SEEN: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Explore all interleavings of `f` with at most `preemptions` switches of a thread that could have gone on. Each of
/// `outcomes` must come to pass in some of them, and nothing else: so that a model cannot pass by never getting anywhere.
pub fn explore(
    preemptions: usize,
    outcomes: &[&'static str],
    f: impl Fn() + Send + Sync + 'static,
) {
    SEEN.take();
    base::explore(preemptions, move || {
        sched::models::set_clock(1, 0);
        f()
    });
    assert_eq!(SEEN.take(), outcomes.iter().copied().collect(), "outcomes")
}

/// It has come to pass.
pub fn saw(outcome: &'static str) {
    SEEN.with_borrow_mut(|s| s.insert(outcome));
}

/// What a G does.
pub fn g<'a>(f: impl FnOnce() + 'a) -> Box<dyn FnOnce() + 'a> {
    Box::new(f)
}

/// Runs these Gs until all have ended; a `select` takes its cases in their order.
pub fn gs<const N: usize>(fs: [Box<dyn FnOnce() + '_>; N]) {
    run_gs(0, fs)
}

/// A value that was written by its sender: loom reports it if that does not happen before it is read.
#[derive(Debug)]
pub struct Letter(Cell<u32>);

impl Letter {
    pub fn new(n: u32) -> Letter {
        Letter(Cell::new(n))
    }
    /// What is in it.
    pub fn read(&self) -> u32 {
        self.0.replace(0)
    }
}
