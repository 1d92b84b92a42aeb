//! Parking against readying (`park.rs` of the scheduler): I-COMMIT, I-STATE.
use crate::world::{Gs, check_end, work};
use base::explore;
use base::mutant::mutant;
use base::{Rank, SpinGuard, SpinLock};
use loom::thread;
use sched::models::sched;
use sched::{Commit, GRef, M, Sched};
use std::sync::Arc;

/// What a channel or a wait group is underneath: has it happened, and who waits for it?
pub struct Wait {
    happened: bool,
    waiter: Option<GRef>,
}

/// Nothing has happened, nobody waits.
pub fn new_event() -> SpinLock<Wait> {
    let wait = Wait {
        happened: false,
        waiter: None,
    };
    SpinLock::new(Rank::Channel, wait)
}

struct Parked<'a> {
    lock: Option<SpinGuard<'a, Wait>>,
}

/// The commit of `park_unlock`, whose lock a planted bug has released before.
unsafe fn unlock(_: GRef, arg: usize) -> bool {
    // SAFETY: `wait` passes it, and waits for the call.
    let parked = unsafe { &mut *(arg as *mut Parked) };
    parked.lock = None;
    true
}

/// G 0 runs on `m` and waits for the event. True: it parked.
pub fn wait(s: &Sched, m: &M, gs: &Gs, event: &SpinLock<Wait>) -> bool {
    let mut w = event.lock();
    if w.happened {
        return false;
    }
    w.waiter = Some(gs.g(0));
    let mut parked = Parked { lock: Some(w) };
    if mutant("park_unlock_on_stack") {
        parked.lock = None
    }
    gs.touch(0); // the last that it does on its stack; from here on g0 runs
    let commit = Commit {
        f: unlock,
        arg: &raw mut parked as usize,
    };
    // SAFETY: the waker readies it once.
    unsafe { s.model_park(m, gs.g(0), commit) }
}

/// It happens: who waits is readied on `m`.
pub fn wake(s: &Sched, m: &M, event: &SpinLock<Wait>) {
    let mut w = event.lock();
    w.happened = true;
    let waiter = w.waiter.take();
    drop(w);
    if let Some(g) = waiter {
        s.model_ready(m, g)
    }
}

/// M0's G parks while M1's G readies it. It is found once, by whichever M, after nobody is on its stack any more.
#[test]
fn park_against_ready() {
    explore(2, || {
        let (s, gs) = (sched(2, 2), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        let event = Arc::new(new_event());
        gs.make_all_runnable();
        s.model_run(m0, gs.g(0));
        let waker = {
            let (gs, event) = (gs.clone(), event.clone());
            thread::spawn(move || {
                wake(s, m1, &event);
                work(s, m1, &gs, |_| {})
            })
        };
        if !wait(s, m0, &gs, &event) {
            gs.ran_on(0)
        }
        work(s, m0, &gs, |_| {});
        waker.join().unwrap();
        check_end(s, &gs)
    })
}
