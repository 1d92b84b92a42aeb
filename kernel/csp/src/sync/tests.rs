//! What Go's `sync` tests assert, as far as it makes sense without `recover`.

use super::{Cond, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use crate::time::{Duration, Instant, sleep};
use crate::{chan, go, goexit, spawn};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering::SeqCst};
use sched::testing::run;
use sched::yield_now;

#[test]
fn mutex_hammer() {
    run(2, 2, || {
        let m = Arc::new(Mutex::new((0u64, 0u64)));
        let hs: Vec<_> = (0..10)
            .map(|k| {
                let m = m.clone();
                spawn(move || {
                    for i in 0..1000 {
                        let mut v = if k % 3 == 0 && i % 5 == 0 {
                            loop {
                                match m.try_lock() {
                                    Some(v) => break v,
                                    None => yield_now(),
                                }
                            }
                        } else {
                            m.lock()
                        };
                        v.0 += 1;
                        if i % 7 == k {
                            yield_now();
                        }
                        v.1 += 1;
                        assert_eq!(v.0, v.1);
                    }
                })
            })
            .collect();
        hs.into_iter().for_each(|h| h.join());
        assert_eq!(*m.lock(), (10_000, 10_000));
        assert!(m.try_lock().is_some());
    });
}

#[test]
fn try_lock_fails_while_held_and_works_afterwards() {
    run(2, 2, || {
        let m = Mutex::new(1);
        let held = m.lock();
        assert!(m.try_lock().is_none());
        drop(held);
        assert!(m.try_lock().is_some());
        assert_eq!(m.into_inner(), 1);
    });
}

/// A starving mutex is handed over by somebody who must not give way: `release` drops the guard that it gets, and goes on.
fn handed_over(
    release: impl FnOnce(crate::sync::MutexGuard<'_, i32>, &Mutex<i32>) + Send + 'static,
) {
    run(1, 1, move || {
        let m = Arc::new(Mutex::new(0));
        let held = m.lock();
        let waiter = spawn({
            let m = m.clone();
            move || *m.lock() += 1
        });
        yield_now(); // it waits
        sleep(Duration::from_millis(2));
        drop(held); // it is woken, and is not first, and has waited for too long
        let held = m.try_lock().expect("a newcomer is faster");
        yield_now();
        release(held, &m);
        waiter.join();
        assert_eq!(*m.lock(), 1);
    });
}

/// As timers do on g0.
#[test]
fn handed_over_with_preemption_off() {
    handed_over(|held, m| {
        let _off = base::PreemptGuard::new();
        drop(held);
        assert!(m.try_lock().is_none(), "it is the waiter's");
    })
}

/// A blocking call has no P to give way with.
#[test]
fn handed_over_in_a_blocking_call() {
    handed_over(|held, m| {
        sched::blocking(|| {
            drop(held);
            assert!(m.try_lock().is_none(), "it is the waiter's");
        })
    })
}

#[test]
fn a_late_comer_gets_the_mutex_in_bounded_time() {
    // Go: TestMutexFairness, golang/go #13086.
    run(2, 2, || {
        let m = Arc::new(Mutex::new(()));
        let stop = Arc::new(AtomicBool::new(false));
        let hog = spawn({
            let (m, stop) = (m.clone(), stop.clone());
            move || {
                while !stop.load(SeqCst) {
                    let _held = m.lock();
                    sleep(Duration::from_micros(100));
                }
            }
        });
        let start = Instant::now();
        for _ in 0..10 {
            sleep(Duration::from_micros(100));
            drop(m.lock());
        }
        assert!(start.elapsed() < Duration::from_secs(5));
        stop.store(true, SeqCst);
        hog.join();
    });
}

#[test]
fn many_waiters_on_one_mutex_all_pass() {
    run(2, 2, || {
        let m = Arc::new(Mutex::new(0u32));
        let wg = WaitGroup::new();
        let held = m.lock();
        for _ in 0..2000 {
            let m = m.clone();
            wg.go(move || *m.lock() += 1);
        }
        sleep(Duration::from_millis(5));
        drop(held);
        wg.wait();
        assert_eq!(*m.lock(), 2000);
    });
}

#[test]
fn wait_group_two_barriers() {
    // Go: TestWaitGroup.
    run(2, 2, || {
        for _ in 0..8 {
            let (one, two) = (WaitGroup::new(), WaitGroup::new());
            let n = 16;
            one.add(n);
            two.add(n);
            let (tx, rx) = chan::<()>(n as usize);
            for _ in 0..n {
                let (one, two, tx) = (one.clone(), two.clone(), tx.clone());
                go(move || {
                    one.done();
                    two.wait();
                    tx.send(()).unwrap();
                });
            }
            one.wait();
            for _ in 0..n {
                assert!(rx.try_recv().is_err());
                two.done();
            }
            (0..n).for_each(|_| rx.recv().unwrap());
        }
    });
}

#[test]
fn wait_group_go_counts_out_before_wait_returns() {
    run(2, 2, || {
        let before = sched::num_goroutine();
        for _ in 0..50 {
            let wg = WaitGroup::new();
            let n = Arc::new(AtomicU32::new(0));
            for i in 0..20 {
                let n = n.clone();
                wg.go(move || {
                    n.fetch_add(1, SeqCst);
                    if i % 4 == 0 {
                        goexit()
                    }
                });
            }
            wg.wait();
            assert_eq!(n.load(SeqCst), 20);
            assert_eq!(sched::num_goroutine(), before);
        }
    });
}

#[test]
#[should_panic(expected = "negative WaitGroup counter")]
fn wait_group_below_zero_panics() {
    let wg = WaitGroup::new();
    wg.add(1);
    wg.done();
    wg.done();
}

#[test]
fn rwlock_readers_together_writers_alone() {
    run(2, 2, || {
        for readers in [1, 3, 10] {
            let lock = Arc::new(RwLock::new(()));
            let activity = Arc::new(AtomicI64::new(0));
            let wg = WaitGroup::new();
            for _ in 0..2 {
                let (lock, activity) = (lock.clone(), activity.clone());
                wg.go(move || {
                    for _ in 0..200 {
                        let _w = lock.write();
                        assert_eq!(activity.fetch_add(10_000, SeqCst), 0);
                        yield_now();
                        activity.fetch_sub(10_000, SeqCst);
                    }
                });
            }
            for _ in 0..readers {
                let (lock, activity) = (lock.clone(), activity.clone());
                wg.go(move || {
                    for _ in 0..200 {
                        let _r = lock.read();
                        assert!((0..10_000).contains(&activity.fetch_add(1, SeqCst)));
                        yield_now();
                        activity.fetch_sub(1, SeqCst);
                    }
                });
            }
            wg.wait();
            assert_eq!(activity.load(SeqCst), 0);
            assert!(lock.try_write().is_some());
        }
    });
}

#[test]
fn rwlock_readers_run_at_the_same_time_and_writers_keep_new_ones_out() {
    run(2, 2, || {
        let lock = Arc::new(RwLock::new(0));
        let first = lock.read();
        assert!(lock.try_read().is_some());
        assert!(lock.try_write().is_none());
        let writer = spawn({
            let lock = lock.clone();
            move || *lock.write() += 1
        });
        while lock.try_read().is_some() {
            yield_now();
        }
        let reader = spawn({
            let lock = lock.clone();
            move || *lock.read()
        });
        (0..50).for_each(|_| yield_now());
        assert!(!reader.is_finished());
        drop(first);
        writer.join();
        assert_eq!(reader.join(), 1);
    });
}

#[test]
fn once_runs_once_and_all_see_it_done() {
    run(2, 2, || {
        for _ in 0..100 {
            let once = Arc::new(Once::new());
            let n = Arc::new(AtomicU32::new(0));
            let hs: Vec<_> = (0..10)
                .map(|_| {
                    let (once, n) = (once.clone(), n.clone());
                    spawn(move || {
                        once.call_once(|| {
                            yield_now();
                            n.fetch_add(1, SeqCst);
                        });
                        n.load(SeqCst)
                    })
                })
                .collect();
            hs.into_iter().for_each(|h| assert_eq!(h.join(), 1));
            assert!(once.is_completed());
        }
    });
}

#[test]
fn once_lock_keeps_the_first_value() {
    run(2, 2, || {
        let alive = Arc::new(());
        let mut cell = OnceLock::new();
        assert!(cell.get().is_none());
        cell.set(alive.clone()).unwrap();
        assert!(cell.set(alive.clone()).is_err());
        assert!(Arc::ptr_eq(cell.get_or_init(|| Arc::new(())), &alive));
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(cell.take());
        assert!(cell.get().is_none());
        drop(cell);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[test]
fn cond_signal_wakes_exactly_one_in_order() {
    // Go: TestCondSignal, TestCondSignalGenerations.
    run(1, 1, || {
        let pair = Arc::new((Mutex::new(0u32), Cond::new()));
        let (tx, rx) = chan::<u32>(100);
        for i in 0..100 {
            go({
                let (pair, tx) = (pair.clone(), tx.clone());
                move || {
                    let mut waiting = pair.0.lock();
                    *waiting += 1;
                    drop(pair.1.wait(waiting));
                    tx.send(i).unwrap();
                }
            });
            while *pair.0.lock() != i + 1 {
                yield_now();
            }
        }
        for i in 0..100 {
            pair.1.notify_one();
            assert_eq!(rx.recv(), Some(i));
            (0..3).for_each(|_| yield_now());
            assert!(rx.is_empty());
        }
        pair.1.notify_one();
    });
}

#[test]
fn cond_broadcast_wakes_all_in_every_round() {
    run(2, 2, || {
        let pair = Arc::new((Mutex::new(0u32), Cond::new(), Cond::new()));
        let (workers, rounds) = (50, 20);
        let wg = WaitGroup::new();
        for _ in 0..workers {
            let pair = pair.clone();
            wg.go(move || {
                for round in 1..=rounds {
                    let mut state = pair.0.lock();
                    *state += 1;
                    if *state == round * workers {
                        pair.1.notify_all();
                    }
                    while *state < round * workers {
                        state = pair.1.wait(state);
                    }
                }
            });
        }
        wg.wait();
        assert_eq!(*pair.0.lock(), workers * rounds);
    });
}

#[test]
fn no_signal_is_lost_between_unlock_and_sleep() {
    run(2, 2, || {
        for _ in 0..2000 {
            let pair = Arc::new((Mutex::new(false), Cond::new()));
            let h = spawn({
                let pair = pair.clone();
                move || {
                    let mut ready = pair.0.lock();
                    while !*ready {
                        ready = pair.1.wait(ready);
                    }
                }
            });
            *pair.0.lock() = true;
            pair.1.notify_one();
            h.join();
        }
    });
}

#[test]
fn semaphore_lets_in_as_many_as_it_has_permits() {
    run(2, 2, || {
        let s = Arc::new(Semaphore::new(3));
        let (inside, peak) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let wg = WaitGroup::new();
        for _ in 0..20 {
            let (s, inside, peak) = (s.clone(), inside.clone(), peak.clone());
            wg.go(move || {
                for _ in 0..50 {
                    s.acquire();
                    peak.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                    yield_now();
                    inside.fetch_sub(1, SeqCst);
                    s.release();
                }
            });
        }
        wg.wait();
        assert!((1..=3).contains(&peak.load(SeqCst)));
        assert_eq!(s.available(), 3);
        assert!(s.try_acquire());
        assert_eq!(s.available(), 2);
    });
}
