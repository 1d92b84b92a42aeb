//! `sync`: Go's tests (sync/*_test.go, runtime/sema_test.go), in our words. Readers and writers: `rwmutex.rs`.

use crate::param::param;
use crate::wait::chance;
use crate::{Outcome, Test, ensure, figure};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("sync_handoff", sync_handoff),
    ("sync_semaphore_hammer", sync_semaphore_hammer),
    ("sync_mutex_hammer", sync_mutex_hammer),
    ("sync_mutex_fairness", sync_mutex_fairness),
    ("sync_wait_group_rounds", sync_wait_group_rounds),
    ("sync_cond_signal", sync_cond_signal),
    ("sync_cond_generations", sync_cond_generations),
    ("sync_cond_broadcast", sync_cond_broadcast),
    ("sync_cond_race", sync_cond_race),
    ("sync_once_crowd", sync_once_crowd),
];

/// Go: SemaHandoff. With all Ps kept busy by those that yield, a lock that is handed over goes to the one that waits, not to
/// the one that gave it: it comes at all, and in bounded time.
fn sync_handoff() -> Outcome {
    static STOP: AtomicBool = AtomicBool::new(false);
    static TURNS: AtomicU64 = AtomicU64::new(0);
    let yielders: Vec<_> = (0..gomaxprocs(0))
        .map(|_| {
            spawn(|| {
                while !STOP.load(Relaxed) {
                    yield_now()
                }
            })
        })
        .collect();
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

/// What the tests of `Cond` share.
struct Shared {
    state: Mutex<State>,
    cond: Cond,
}

#[derive(Default)]
struct State {
    waiting: u64,
    woken: Vec<u64>,
    go_on: bool,
}

fn shared() -> Arc<Shared> {
    Arc::new(Shared {
        state: Mutex::new(State::default()),
        cond: Cond::new(),
    })
}

/// `n` that wait one behind the other, in the order of their numbers.
fn queue_up(shared: &Arc<Shared>, n: u64) -> WaitGroup {
    let wg = WaitGroup::new();
    for i in 0..n {
        let s = shared.clone();
        wg.go(move || {
            let mut state = s.state.lock();
            state.waiting += 1;
            state = s.cond.wait(state);
            state.woken.push(i)
        });
        // The lock is free only while it waits.
        while shared.state.lock().waiting != i + 1 {
            yield_now()
        }
    }
    wg
}

/// Go: CondSignal: each signal wakes exactly one.
fn sync_cond_signal() -> Outcome {
    let shared = shared();
    let n = param("waiters", 20);
    let wg = queue_up(&shared, n);
    for i in 1..=n {
        shared.cond.notify_one();
        while (shared.state.lock().woken.len() as u64) < i {
            yield_now()
        }
        (0..20).for_each(|_| yield_now());
        let woken = shared.state.lock().woken.len() as u64;
        ensure!(woken == i, "{woken} woken by {i} signals");
    }
    shared.cond.notify_one(); // nobody is left
    wg.wait();
    Ok(())
}

/// Go: CondSignalGenerations: those that wait are woken in the order in which they came.
fn sync_cond_generations() -> Outcome {
    let shared = shared();
    let n = param("waiters", 100);
    let wg = queue_up(&shared, n);
    for i in 1..=n {
        shared.cond.notify_one();
        while (shared.state.lock().woken.len() as u64) < i {
            yield_now()
        }
    }
    wg.wait();
    let woken = core::mem::take(&mut shared.state.lock().woken);
    ensure!(woken.iter().copied().eq(0..n), "woken as {woken:?}");
    Ok(())
}

/// Go: CondBroadcast: all wake in each round.
fn sync_cond_broadcast() -> Outcome {
    for round in 0..param("rounds", 3) {
        let shared = shared();
        let n = param("waiters", 200);
        let wg = queue_up(&shared, n);
        shared.cond.notify_all();
        wg.wait();
        let woken = shared.state.lock().woken.len() as u64;
        ensure!(woken == n, "round {round}: {woken} of {n} woke");
    }
    Ok(())
}

/// Go: Cond's Race: what is changed before the signal is seen after the wait, round after round.
fn sync_cond_race() -> Outcome {
    let shared = shared();
    let rounds = param("rounds", 2000);
    let s = shared.clone();
    let other = spawn(move || {
        for _ in 0..rounds {
            let mut state = s.state.lock();
            while !state.go_on {
                state = s.cond.wait(state)
            }
            state.go_on = false;
            state.waiting += 1;
            s.cond.notify_all()
        }
    });
    for i in 0..rounds {
        let mut state = shared.state.lock();
        state.go_on = true;
        shared.cond.notify_all();
        while state.waiting != i + 1 {
            state = shared.cond.wait(state)
        }
    }
    other.join();
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
