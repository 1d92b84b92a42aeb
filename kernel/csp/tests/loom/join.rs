//! Results and ends of goroutines: `spawn`, `scope`, `WaitGroup::go`.
use crate::world::{Letter, explore, g, gs, saw};
use base::shim::Watch;
use csp::sync::WaitGroup;
use csp::{scope, spawn};
use sched::models::parks;
use std::sync::Arc;

/// Who joins waits for the end, or finds it; the result is there.
#[test]
fn join_against_end() {
    explore(3, &["had ended", "waited"], || {
        gs([g(|| {
            let h = spawn(|| Letter::new(7));
            assert_eq!(h.join().read(), 7);
            saw(["had ended", "waited"][parks() as usize])
        })])
    })
}

/// A result that nobody wants is dropped once, and by a goroutine: its destructor may park.
#[test]
fn drop_against_end() {
    struct Result(Arc<Watch>);
    impl Drop for Result {
        fn drop(&mut self) {
            assert!(sched::try_current().is_some(), "dropped on g0");
            self.0.used();
            saw(if sched::current().id() == 0 {
                "by the handle's"
            } else {
                "by its own"
            })
        }
    }
    explore(3, &["by its own", "by the handle's"], || {
        let watch = Arc::new(Watch::new());
        let theirs = watch.clone();
        gs([g(|| drop(spawn(move || Result(theirs))))]);
        assert_eq!(Arc::strong_count(&watch), 1, "results that are left")
    })
}

/// What the goroutines of a scope did is done when it returns.
#[test]
fn scope_against_ends() {
    explore(3, &["had ended", "waited"], || {
        gs([g(|| {
            let did = [Watch::new(), Watch::new()];
            scope(|s| {
                s.go(|| did[0].used());
                s.go(|| did[1].used())
            });
            did.iter().for_each(Watch::used);
            saw(["had ended", "waited"][parks() as usize])
        })])
    })
}

/// Both ways to wait for the goroutine of a scope at once: by its handle and by the scope's end.
#[test]
fn scoped_join() {
    explore(3, &["joined"], || {
        gs([g(|| {
            let did = Watch::new();
            scope(|s| {
                let h = s.spawn(|| {
                    did.used();
                    Letter::new(7)
                });
                assert_eq!(h.join().read(), 7)
            });
            did.used();
            saw("joined")
        })])
    })
}

/// A group counts until the goroutine has ended.
#[test]
fn group_against_end() {
    explore(3, &["had ended", "waited"], || {
        gs([g(|| {
            let (wg, did) = (WaitGroup::new(), Arc::new(Watch::new()));
            let theirs = did.clone();
            wg.go(move || theirs.used());
            wg.wait();
            did.used();
            saw(["had ended", "waited"][parks() as usize])
        })])
    })
}
