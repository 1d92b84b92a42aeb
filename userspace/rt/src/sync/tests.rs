//! On threads of the host.

use super::*;
use crate::thread::spawn;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

#[test]
fn one_at_a_time() {
    let sum = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let sum = sum.clone();
            spawn(move || {
                for _ in 0..10_000 {
                    let mut sum = sum.lock();
                    let seen = *sum;
                    std::hint::black_box(&sum);
                    *sum = seen + 1;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join());
    assert_eq!(*sum.lock(), 40_000);
}

#[test]
fn a_lock_that_is_held_is_not_given() {
    let mut lock = Mutex::new(1);
    let held = lock.lock();
    assert!(lock.try_lock().is_none());
    assert_eq!(format!("{lock:?}"), "Mutex(<locked>)");
    drop(held);
    *lock.try_lock().unwrap() += 1;
    *lock.get_mut() += 1;
    assert_eq!(format!("{lock:?}"), "Mutex(3)");
    assert_eq!(lock.into_inner(), 3);
}

#[test]
fn a_condition_is_seen_by_all_who_wait() {
    let shared = Arc::new((Mutex::new(0), Cond::new()));
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let shared = shared.clone();
            spawn(move || {
                let (level, changed) = &*shared;
                let mut level = level.lock();
                while *level < 2 {
                    level = changed.wait(level);
                }
            })
        })
        .collect();
    for _ in 0..2 {
        *shared.0.lock() += 1;
        shared.1.notify_all();
    }
    waiters.into_iter().for_each(|waiter| waiter.join());
}

#[test]
fn waiting_for_a_condition_ends_with_its_time() {
    let (lock, never) = (Mutex::new(()), Cond::new());
    let (guard, in_time) = never.wait_timeout(lock.lock(), Duration::from_millis(2));
    assert!(!in_time);
    assert!(lock.try_lock().is_none());
    drop(guard);
}

#[test]
fn one_notification_wakes_one() {
    let shared = Arc::new((Mutex::new(0), Cond::new()));
    let (tx, rx) = std::sync::mpsc::channel();
    for _ in 0..2 {
        let (shared, tx) = (shared.clone(), tx.clone());
        spawn(move || {
            let (tokens, came) = &*shared;
            let mut tokens = tokens.lock();
            while *tokens == 0 {
                tokens = came.wait(tokens);
            }
            *tokens -= 1;
            tx.send(()).unwrap();
        });
    }
    for _ in 0..2 {
        *shared.0.lock() += 1;
        shared.1.notify_one();
        rx.recv().unwrap();
    }
    assert_eq!(*shared.0.lock(), 0);
}

#[test]
fn a_group_waits_for_all() {
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    let group = WaitGroup::new();
    group.wait();
    for _ in 0..5 {
        group.go(|| _ = ENDED.fetch_add(1, Ordering::Relaxed));
    }
    group.wait();
    assert_eq!(ENDED.load(Ordering::Relaxed), 5);
}

#[test]
#[should_panic = "negative WaitGroup counter"]
fn a_group_does_not_fall_below_none() {
    WaitGroup::new().done();
}
