//! Blocking calls: their Ps are taken by others (`handoff.rs` of the scheduler).
use crate::world::{Gs, check_end, explore, work};
use loom::thread;
use sched::models::sched;

/// M1's G 0 is in a call that needs G 1, which waits on M1's P. M0's G stops the world, which takes that P, starts it again
/// and then runs dry: G 1 must be within its reach, although no M is free to hold the P.
#[test]
fn call_against_stop() {
    explore(2, || {
        let (s, gs) = (sched(2, 2), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        s.model_queue(1, gs.g(1));
        sched::models::make_runnable(gs.g(0));
        s.model_run(m1, gs.g(0));
        let caller = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_enter_call(m1, gs.g(0));
                gs.await_found(1);
                if s.model_exit_call(m1, gs.g(0)) {
                    gs.ran_on(0)
                }
                work(s, m1, &gs, |_| {})
            })
        };
        s.model_stop_world(m0, || {});
        work(s, m0, &gs, |_| {});
        caller.join().unwrap();
        check_end(s, &gs)
    })
}

/// sysmon, on M0, takes the P of M1's call and gives it to M2, or finds no M free; M1 comes back at any time. Each P has
/// one owner, each G is found once.
#[test]
fn call_against_retake() {
    explore(1, || {
        let (s, gs) = (sched(3, 2), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        s.model_queue(1, gs.g(1));
        sched::models::make_runnable(gs.g(0));
        s.model_run(m1, gs.g(0));
        let caller = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_enter_call(m1, gs.g(0));
                gs.touch(0);
                if s.model_exit_call(m1, gs.g(0)) {
                    gs.ran_on(0)
                }
                work(s, m1, &gs, |_| {})
            })
        };
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, &s.allm[2], &gs, |_| {}))
        };
        s.model_retake(1);
        work(s, m0, &gs, |_| {});
        caller.join().unwrap();
        other.join().unwrap();
        check_end(s, &gs)
    })
}
