//! `Mutex`: nobody is forgotten, one at a time, the hand-over of the starving mode.
use crate::world::{explore, g, gs, saw};
use base::shim::Watch;
use csp::sync::Mutex;
use sched::models::{parks, set_clock};

/// More than a waiter may lose to newcomers, in ns.
const STARVING_NS: u64 = 2_000_000;

struct Protected {
    lock: Mutex<u32>,
    /// What the lock protects: loom reports uses that are not ordered by it.
    inside: Watch,
}

impl Protected {
    fn new() -> Self {
        Self {
            lock: Mutex::new(0),
            inside: Watch::new(),
        }
    }

    fn enter(&self) {
        let mut n = self.lock.lock();
        self.inside.used();
        *n += 1
    }

    fn entered(self) -> u32 {
        self.lock.into_inner()
    }
}

#[test]
fn two_lock() {
    explore(4, &["parked", "went in"], || {
        let m = Protected::new();
        let twice = || {
            m.enter();
            m.enter();
            saw(if parks() > 0 { "parked" } else { "went in" })
        };
        gs([g(twice), g(twice)]);
        assert_eq!(m.entered(), 4)
    })
}

#[test]
fn three_lock() {
    explore(3, &["parked", "went in"], || {
        let m = Protected::new();
        let once = || {
            m.enter();
            saw(if parks() > 0 { "parked" } else { "went in" })
        };
        gs([g(once), g(once), g(once)]);
        assert_eq!(m.entered(), 3)
    })
}

/// Whoever loses once has waited for too long: it gets the lock handed over.
#[test]
fn three_lock_and_starve() {
    explore(2, &["lost once", "lost twice", "went in"], || {
        set_clock(1, STARVING_NS);
        let m = Protected::new();
        let once = || {
            m.enter();
            saw(["went in", "lost once", "lost twice"][parks() as usize])
        };
        let twice = || {
            m.enter();
            m.enter()
        };
        gs([g(twice), g(once), g(once)]);
        assert_eq!(m.entered(), 4)
    })
}

#[test]
fn try_lock_against_lock() {
    explore(3, &["got it", "taken"], || {
        let m = Protected::new();
        gs([
            g(|| match m.lock.try_lock() {
                Some(mut n) => {
                    m.inside.used();
                    *n += 1;
                    saw("got it")
                }
                None => saw("taken"),
            }),
            g(|| m.enter()),
            g(|| m.enter()),
        ]);
        assert!(m.entered() >= 2)
    })
}
