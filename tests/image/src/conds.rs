//! Conditions: Go's tests (sync/cond_test.go), in our words.

use crate::param::param;
use crate::{Outcome, Test, ensure};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("sync_cond_signal", sync_cond_signal),
    ("sync_cond_generations", sync_cond_generations),
    ("sync_cond_broadcast", sync_cond_broadcast),
    ("sync_cond_race", sync_cond_race),
];

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
