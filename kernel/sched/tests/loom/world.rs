//! What the models share: Gs as plain data, a ledger of who was found, and the run itself.

use loom::sync::mpsc;
use sched::{G, GRef, GStatus, M, Sched};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Gs without stacks, numbered from 0. The counters are the host's own atomics: they see the order in which loom runs
/// things and add nothing to it.
pub struct Gs {
    gs: Vec<GRef>,
    found: Vec<AtomicU64>,
    /// Found once in a model in which that does not count.
    seen: Vec<AtomicBool>,
    /// What the G's owner of the moment writes: loom reports it if one owner's writes do not happen before the next's.
    stack: Vec<loom::cell::UnsafeCell<u32>>,
    /// Told of each G that was found.
    told: Vec<mpsc::Sender<()>>,
    ears: Vec<mpsc::Receiver<()>>,
}

// SAFETY: `stack` is what loom watches; ears are used by one thread each.
unsafe impl Sync for Gs {}
// SAFETY: as above.
unsafe impl Send for Gs {}

impl Gs {
    pub fn new(n: usize) -> Arc<Gs> {
        let (told, ears) = (0..n).map(|_| mpsc::channel()).unzip();
        Arc::new(Gs {
            gs: (0..n)
                .map(|i| {
                    let g: &'static G = Box::leak(Box::new(G::new()));
                    g.set_id(i as u64);
                    GRef::new(g)
                })
                .collect(),
            seen: (0..n).map(|_| AtomicBool::new(false)).collect(),
            found: (0..n).map(|_| AtomicU64::new(0)).collect(),
            stack: (0..n).map(|_| loom::cell::UnsafeCell::new(0)).collect(),
            told,
            ears,
        })
    }

    pub fn all(&self) -> &[GRef] {
        &self.gs
    }
    pub fn g(&self, i: usize) -> GRef {
        self.gs[i]
    }

    /// The caller's code runs on G `i`'s stack.
    pub fn touch(&self, i: usize) {
        self.stack[i].with_mut(|p| {
            // SAFETY: loom checks that nobody else is here.
            unsafe { *p += 1 }
        })
    }

    /// For models without a scheduler, or with Gs that already run.
    pub fn make_all_runnable(&self) {
        for &g in &self.gs {
            sched::models::make_runnable(g)
        }
    }

    /// G `i` goes on without having been queued.
    pub fn ran_on(&self, i: usize) {
        self.touch(i);
        assert_eq!(self.found[i].fetch_add(1, Relaxed), 0, "G {i} runs twice");
        self.told[i].send(()).unwrap()
    }

    /// G `i` was found for the first time, and will be queued again: that does not count.
    pub fn first_time(&self, i: usize) -> bool {
        let first = !self.seen[i].swap(true, Relaxed);
        if first {
            self.found[i].store(0, Relaxed)
        }
        first
    }

    /// Somebody got `g` out of a queue and runs it.
    pub fn ran(&self, g: GRef) -> usize {
        let i = g.id() as usize;
        assert_eq!(g.status(), GStatus::Runnable, "G {i} was found");
        self.touch(i);
        assert_eq!(self.found[i].fetch_add(1, Relaxed), 0, "G {i} found twice");
        self.told[i].send(()).unwrap();
        i
    }

    /// Wait until somebody else has found G `i`: a busy G that depends on it. Nothing but a wake-up helps: if it is lost,
    /// loom reports a deadlock.
    pub fn await_found(&self, i: usize) {
        self.ears[i].recv().unwrap()
    }

    /// Has each been found? Asks outside of the model.
    pub fn all_found(&self) -> bool {
        self.found.iter().all(|n| n.load(Relaxed) == 1)
    }

    /// Once all threads have ended: each G was found once.
    pub fn check(&self) {
        for (i, n) in self.found.iter().enumerate() {
            assert_eq!(n.load(Relaxed), 1, "times that G {i} was found")
        }
    }
}

impl Drop for Gs {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            for g in &self.gs {
                // SAFETY: `new` leaked a box; the model is over.
                drop(unsafe { Box::from_raw(g.as_ptr()) })
            }
        }
    }
}

/// An M's life: run what is found until the run is over.
pub fn work(s: &Sched, m: &M, gs: &Gs, mut run: impl FnMut(usize)) {
    while let Some(g) = s.model_next(m) {
        run(gs.ran(g))
    }
}

/// Once all threads have ended.
pub fn check_end(s: &'static Sched, gs: &Gs) {
    gs.check();
    assert!(!s.model_work_left(), "work was left on a queue");
    assert_eq!(s.nmspinning(), 0, "Ms that spin after the end");
    // SAFETY: the threads have ended.
    unsafe { sched::models::free(s) }
}
