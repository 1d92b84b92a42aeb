//! `sync`: Go's tests (sync/*_test.go, runtime/sema_test.go), in our words. Readers and writers: `rwmutex.rs`;
//! conditions: `conds.rs`.

use crate::param::param;
use crate::wait::{chance, yielders};
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("sync_handoff", sync_handoff),
    ("sync_handed_over_runs_next", sync_handed_over_runs_next),
    ("sync_semaphore_hammer", sync_semaphore_hammer),
    ("sync_mutex_hammer", sync_mutex_hammer),
    ("sync_mutex_fairness", sync_mutex_fairness),
    ("sync_wait_group_rounds", sync_wait_group_rounds),
    ("sync_once_crowd", sync_once_crowd),
    ("sync_once_goexit", sync_once_goexit),
];

/// golang/go #13086. With all Ps kept busy by those that yield, a lock goes to the one that waits after a while, not to the one
/// that gave it: it comes at all, and in bounded time.
fn sync_handoff() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static TURNS: AtomicU64 = AtomicU64::new(0);
    let yielders = yielders(&STOP);
    let mutex = Arc::new(Mutex::new(()));
    // One holds the lock nearly all the time.
    let greedy = spawn({
        let mutex = mutex.clone();
        move || {
            while !STOP.load(Relaxed) {
                let held = mutex.lock();
                sleep(Duration::from_micros(200));
                drop(held);
                TURNS.fetch_add(1, Relaxed);
            }
        }
    });
    let rounds = param("rounds", 30);
    let mut most = 0;
    for _ in 0..rounds {
        let before = TURNS.load(Relaxed);
        drop(mutex.lock());
        most = most.max(TURNS.load(Relaxed) - before);
        sleep(Duration::from_micros(100))
    }
    STOP.store(true, Relaxed);
    greedy.join();
    yielders.into_iter().for_each(JoinHandle::join);
    figure!("most_turns", most);
    // The lock is starving after 1 ms: five turns of 200 us and what a loaded host adds.
    ensure!(most < 1_000, "the other had {most} turns meanwhile");
    Ok(())
}

/// Go: SemaHandoff. With all Ps kept busy by those that yield, whoever gets a starving lock handed over runs before the one that
/// gave it goes on, in two of three tries at least.
fn sync_handed_over_runs_next() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let yielders = yielders(&STOP);
    let waiting = || ringo::metrics::read().goroutines.waiting;
    let alone = waiting();
    let until_it_waits = |waiter: &JoinHandle<()>| {
        while waiting() == alone && !waiter.is_finished() {
            yield_now()
        }
    };
    let (mut tried, mut first) = (0, 0);
    for _ in 0..param("rounds", 60) {
        let (mutex, who) = (Arc::new(Mutex::new(())), Arc::new(AtomicU64::new(0)));
        let held = mutex.lock();
        let waiter = spawn({
            let (mutex, who) = (mutex.clone(), who.clone());
            move || {
                let _held = mutex.lock();
                _ = who.compare_exchange(0, 1, Relaxed, Relaxed)
            }
        });
        until_it_waits(&waiter);
        let since = Instant::now();
        while since.elapsed() < Duration::from_micros(1100) {
            yield_now()
        }
        drop(held);
        // It loses once more, having waited for over 1 ms: from then on the lock is handed over. Unless it was had, and given back, before
        // this G came here.
        if let Some(held) = mutex.try_lock().filter(|_| who.load(Relaxed) == 0) {
            until_it_waits(&waiter);
            drop(held);
            _ = who.compare_exchange(0, 2, Relaxed, Relaxed);
            tried += 1;
            waiter.join();
            first += u64::from(who.load(Relaxed) == 1)
        } else {
            waiter.join()
        }
    }
    STOP.store(true, Relaxed);
    yielders.into_iter().for_each(JoinHandle::join);
    figure!("handed_over", tried);
    figure!("ran_first", first);
    ensure!(tried > 0, "the lock was never starving");
    ensure!(3 * first >= 2 * tried, "{first} of {tried} ran first");
    Ok(())
}

/// Go: Semaphore, HammerSemaphore: never more inside than there are permits.
fn sync_semaphore_hammer() -> Outcome {
    for permits in [1u64, 3] {
        let semaphore = Arc::new(Semaphore::new(permits as usize));
        let (inside, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let wg = WaitGroup::new();
        for _ in 0..10 {
            let (semaphore, inside, most) = (semaphore.clone(), inside.clone(), most.clone());
            wg.go(move || {
                for i in 0..param("rounds", 500) {
                    semaphore.acquire();
                    most.fetch_max(inside.fetch_add(1, AcqRel) + 1, AcqRel);
                    if i % 16 == 0 {
                        yield_now()
                    }
                    inside.fetch_sub(1, AcqRel);
                    semaphore.release()
                }
            })
        }
        wg.wait();
        let most = most.load(Relaxed);
        ensure!(most <= permits, "{most} inside with {permits} permits");
        ensure!(
            semaphore.available() == permits as usize,
            "{} permits are left of {permits}",
            semaphore.available()
        );
    }
    Ok(())
}

/// Go: Mutex, HammerMutex, with `TryLock` in between, which never succeeds beside a holder.
fn sync_mutex_hammer() -> Outcome {
    let mutex = Arc::new(Mutex::new((0u64, 0u64)));
    let rounds = param("rounds", 1000);
    let wg = WaitGroup::new();
    let tried = Arc::new(AtomicU64::new(0));
    for g in 0..10 {
        let (mutex, tried) = (mutex.clone(), tried.clone());
        wg.go(move || {
            let mut rng = chance(g);
            for _ in 0..rounds {
                let mut held = if rng.below(4) == 0 {
                    match mutex.try_lock() {
                        Some(held) => held,
                        None => continue,
                    }
                } else {
                    mutex.lock()
                };
                tried.fetch_add(1, Relaxed);
                held.0 += 1;
                if rng.below(50) == 0 {
                    yield_now() // with the lock held
                }
                held.1 += 1
            }
        })
    }
    wg.wait();
    let both = *mutex.lock();
    let want = tried.load(Relaxed);
    ensure!(both == (want, want), "{both:?} instead of {want}");
    Ok(())
}

/// Go: MutexFairness: one that locks again and again does not keep out one that comes now and then.
fn sync_mutex_fairness() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    let mutex = Arc::new(Mutex::new(0u64));
    let hog = spawn({
        let mutex = mutex.clone();
        move || {
            while !STOP.load(Relaxed) {
                let mut held = mutex.lock();
                *held += 1;
                let end = Instant::now() + Duration::from_micros(100);
                while Instant::now() < end {
                    core::hint::spin_loop()
                }
            }
        }
    });
    for _ in 0..10 {
        sleep(Duration::from_micros(100));
        *mutex.lock() += 1
    }
    STOP.store(true, Relaxed);
    hog.join();
    figure!("hog_turns", *mutex.lock() - 10);
    Ok(())
}

/// Go: WaitGroup, WaitGroupRace, WaitGroupAlign: rounds of two groups, and an add that races with a wait.
fn sync_wait_group_rounds() -> Outcome {
    let (one, two) = (WaitGroup::new(), WaitGroup::new());
    for _ in 0..8 {
        let n = 16;
        one.add(n);
        two.add(n);
        let ended = Arc::new(AtomicBool::new(false));
        let gs: Vec<_> = (0..n)
            .map(|_| {
                let (one, two, ended) = (one.clone(), two.clone(), ended.clone());
                spawn(move || {
                    one.done();
                    two.wait();
                    ended.load(Acquire)
                })
            })
            .collect();
        one.wait();
        ended.store(true, Release);
        (0..n).for_each(|_| two.done());
        for g in gs {
            ensure!(g.join(), "the second group let somebody through too early");
        }
    }
    for round in 0..param("rounds", 1000) {
        let (wg, n) = (WaitGroup::new(), Arc::new(AtomicU64::new(0)));
        for _ in 0..2 {
            let n = n.clone();
            wg.go(move || _ = n.fetch_add(1, Relaxed))
        }
        wg.wait();
        ensure!(n.load(Relaxed) == 2, "round {round}: wait came back early");
    }
    Ok(())
}

/// Go: Once: ten callers at once, one run, and all see what it did.
fn sync_once_crowd() -> Outcome {
    for round in 0..param("rounds", 200) {
        let (once, n) = (Arc::new(Once::new()), Arc::new(AtomicU64::new(0)));
        let gs: Vec<_> = (0..10)
            .map(|_| {
                let (once, n) = (once.clone(), n.clone());
                spawn(move || {
                    once.call_once(|| {
                        yield_now();
                        n.fetch_add(1, Relaxed);
                    });
                    n.load(Relaxed)
                })
            })
            .collect();
        for g in gs {
            let seen = g.join();
            ensure!(seen == 1, "round {round}: {seen} runs seen");
        }
    }
    Ok(())
}

/// Go: Once whose function ends its goroutine: it has run, and no other runs. A value that was not made so is made by the next.
fn sync_once_goexit() -> Outcome {
    let (once, lock) = (Arc::new(Once::new()), Arc::new(OnceLock::<u32>::new()));
    let (begun, has_begun) = chan::<()>(1);
    let (o, l) = (once.clone(), lock.clone());
    go(move || {
        o.call_once(|| {
            l.get_or_init(|| {
                let _ = begun.send(());
                (0..100).for_each(|_| yield_now());
                goexit()
            });
        })
    });
    has_begun.recv();
    let waits: Vec<_> = (0..5)
        .map(|_| {
            let (once, lock) = (once.clone(), lock.clone());
            spawn(move || {
                let mut ran = false;
                once.call_once(|| ran = true);
                (ran, *lock.get_or_init(|| 7))
            })
        })
        .collect();
    for g in waits {
        let seen = g.join();
        ensure!(seen == (false, 7), "ran again, and made: {seen:?}");
    }
    ensure!(once.is_completed(), "it is not done");
    Ok(())
}
