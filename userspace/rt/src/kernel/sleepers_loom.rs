//! The futex of models: the same in loom's terms, without time.

use abi::{Error, FOREVER};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Condvar, Mutex};
use std::cell::RefCell;
use std::sync::Arc;

#[derive(Default)]
struct Sleepers {
    list: Mutex<(Vec<(u64, u64)>, u64)>,
    woken: Condvar,
}

thread_local! {
    /// Loom's threads are one thread of the host. (What loom itself keeps for a model goes with its first thread, before the others.)
    static SLEEPERS: RefCell<Arc<Sleepers>> = RefCell::default();
}

/// Nobody sleeps: a model begins.
pub(crate) fn begin() {
    SLEEPERS.set(Arc::default())
}

fn sleepers() -> Arc<Sleepers> {
    SLEEPERS.with_borrow(Arc::clone)
}

pub(super) fn wait(word: &AtomicU32, expected: u32, timeout: u64) -> i64 {
    assert_eq!(timeout, FOREVER, "models have no time");
    let sleepers = sleepers();
    let mut list = sleepers.list.lock().expect("models do not panic twice");
    if word.load(Ordering::SeqCst) != expected {
        return Error::Again as i64;
    }
    let me = list.1;
    list.1 += 1;
    list.0.push((core::ptr::from_ref(word) as u64, me));
    while list.0.iter().any(|sleeper| sleeper.1 == me) {
        list = sleepers
            .woken
            .wait(list)
            .expect("models do not panic twice");
    }
    0
}

pub(super) fn wake(address: u64, n: u64) -> i64 {
    let sleepers = sleepers();
    let mut list = sleepers.list.lock().expect("models do not panic twice");
    let mut woken = 0;
    list.0.retain(|sleeper| {
        let wakes = sleeper.0 == address && woken < n;
        woken += u64::from(wakes);
        !wakes
    });
    sleepers.woken.notify_all();
    woken as i64
}
