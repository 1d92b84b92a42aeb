//! Blocking calls: their Ps are taken by others (`handoff.rs` of the scheduler).
use crate::world::{Gs, check_end, work};
use base::explore;
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

/// G 0 is in a call on M1, whose P sysmon takes and gives to M2, or to M0 itself; there G 1 enters a call as well, on the same P. Both
/// come back at any time, each may find the P in the other's call, which it leaves alone.
#[test]
fn two_calls_on_one_p() {
    explore(3, || {
        let (s, gs) = (sched(3, 1), Gs::new(2));
        let m1 = s.model_hold(1, 0, false);
        s.model_queue(0, gs.g(1));
        sched::models::make_runnable(gs.g(0));
        s.model_run(m1, gs.g(0));
        let call = |m: &sched::M, gs: &Gs, i: usize| {
            if i == 1 && gs.first_time(1) {
                s.model_run(m, gs.g(1));
                s.model_enter_call(m, gs.g(1));
                if s.model_exit_call(m, gs.g(1)) {
                    gs.ran_on(1)
                }
            }
        };
        let caller = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_enter_call(m1, gs.g(0));
                if s.model_exit_call(m1, gs.g(0)) {
                    gs.ran_on(0)
                }
                work(s, m1, &gs, |i| call(m1, &gs, i))
            })
        };
        let other = {
            let gs = gs.clone();
            let m2 = &s.allm[2];
            thread::spawn(move || work(s, m2, &gs, |i| call(m2, &gs, i)))
        };
        s.model_retake(0);
        s.model_retake(0);
        let m0 = &s.allm[0];
        work(s, m0, &gs, |i| call(m0, &gs, i));
        caller.join().unwrap();
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// M0 is idle and sysmon: it takes the only P from M1's call, which ends just now. M1 is then idle as well, and there is G 0 that
/// waits for the P: that is not the end.
#[test]
fn idle_m_retakes() {
    explore(4, || {
        let (s, gs) = (sched(2, 1), Gs::new(1));
        let m0 = s.model_listed(0);
        let m1 = s.model_hold(1, 0, false);
        sched::models::make_runnable(gs.g(0));
        s.model_run(m1, gs.g(0));
        let caller = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_enter_call(m1, gs.g(0));
                if s.model_exit_call(m1, gs.g(0)) {
                    gs.ran_on(0)
                }
                work(s, m1, &gs, |_| {})
            })
        };
        s.model_retake(0);
        s.model_sleep(m0);
        work(s, m0, &gs, |_| {});
        caller.join().unwrap();
        check_end(s, &gs)
    })
}
