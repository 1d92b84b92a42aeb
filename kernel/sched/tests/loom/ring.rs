//! A P's run queue: its owner against a thief.
use crate::world::Gs;
use base::explore;
use loom::sync::Arc;
use loom::thread;
use sched::RunQueue;

/// A thief steals `n` times and runs what it gets.
fn steal(victim: &RunQueue, gs: &Gs, n: usize, half: bool, runnext: bool) {
    let mine = RunQueue::new();
    for _ in 0..n {
        if let Some((g, _)) = mine.steal_from(victim, half, runnext) {
            gs.ran(g);
        }
        while let Some((g, _)) = mine.get() {
            gs.ran(g);
        }
    }
}

fn with_thief(n: usize, half: bool, runnext: bool, gs: usize, owner: fn(&RunQueue, &Gs)) {
    let (q, gs) = (Arc::new(RunQueue::new()), Gs::new(gs));
    gs.make_all_runnable();
    let thief = {
        let (q, gs) = (q.clone(), gs.clone());
        thread::spawn(move || steal(&q, &gs, n, half, runnext))
    };
    owner(&q, &gs);
    while let Some((g, _)) = q.get() {
        gs.ran(g);
    }
    thief.join().unwrap();
    assert!(q.is_empty(), "empty at the end");
    gs.check();
}

/// Six Gs go through a ring of four, so it wraps; the owner gets in between, the thief takes half twice.
#[test]
fn each_once() {
    explore(2, || {
        with_thief(2, true, false, 6, |q, gs| {
            for i in 0..6 {
                gs.touch(i);
                while q.put(gs.g(i)).is_err() {
                    if let Some(g) = q.get_ring() {
                        gs.ran(g);
                    }
                }
                if i == 2
                    && let Some(g) = q.get_ring()
                {
                    gs.ran(g);
                }
            }
        })
    })
}

/// The same for a thief that takes one at a time.
#[test]
fn each_once_one_at_a_time() {
    explore(3, || {
        with_thief(2, false, false, 5, |q, gs| {
            for i in 0..5 {
                gs.touch(i);
                if q.put(gs.g(i)).is_err() {
                    gs.ran(gs.g(i));
                }
            }
        })
    })
}

/// `runnext` is displaced into the ring, got by the owner, and stolen.
#[test]
fn runnext_once() {
    explore(3, || {
        with_thief(3, true, true, 3, |q, gs| {
            for i in 0..3 {
                gs.touch(i);
                if let Some(old) = q.put_next(gs.g(i)) {
                    q.put(old).unwrap()
                }
                if i == 1
                    && let Some((g, _)) = q.get()
                {
                    gs.ran(g);
                }
            }
        })
    })
}

/// The ring is full: the owner moves half away while the thief steals half.
#[test]
fn overflow_once() {
    explore(3, || {
        with_thief(1, true, false, 5, |q, gs| {
            for i in 0..5 {
                gs.touch(i);
                let g = gs.g(i);
                while q.put(g).is_err() {
                    if let Some(mut batch) = q.take_half() {
                        batch.push_back(g);
                        while let Some(g) = batch.pop() {
                            gs.ran(g);
                        }
                        break;
                    }
                }
            }
        })
    })
}

/// A G goes from `runnext` into the ring and the one that displaced it is run: somebody who looks meanwhile never sees an
/// empty queue.
#[test]
fn never_looks_empty() {
    explore(3, || {
        let (q, gs) = (Arc::new(RunQueue::new()), Gs::new(2));
        q.put_next(gs.g(0));
        let owner = {
            let (q, gs) = (q.clone(), gs.clone());
            thread::spawn(move || {
                if let Some(old) = q.put_next(gs.g(1)) {
                    q.put(old).unwrap()
                }
                q.get();
            })
        };
        assert!(!q.is_empty(), "a queue with a G in it looks empty");
        owner.join().unwrap();
    })
}
