//! Going idle against waking up (`idle.rs` of the scheduler).
use crate::world::{Gs, check_end, explore, work};
use loom::thread;
use sched::models::sched;

/// M0's G makes a G and then needs it to run; M1 has run dry and goes idle.
#[test]
fn make_against_idle() {
    explore(2, || {
        let (s, gs) = (sched(2, 2), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, m1, &gs, |_| {}))
        };
        s.model_new(m0, gs.g(0));
        gs.await_found(0);
        work(s, m0, &gs, |_| {});
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// The same against an M in transit: it has no P and is not on the idle list yet; its P is idle.
#[test]
fn make_against_transit() {
    explore(3, || {
        let (s, gs) = (sched(2, 2), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let m1 = &s.allm[1];
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, m1, &gs, |_| {}))
        };
        s.model_new(m0, gs.g(0));
        gs.await_found(0);
        work(s, m0, &gs, |_| {});
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// M0 spins and finds two Gs; the first needs the second. M1 has run dry; since M0 spins, it may give its P up without
/// having spun, after M0 found no idle P (Go #45867).
#[test]
fn last_spinner_finds_work() {
    explore(2, || {
        let (s, gs) = (sched(2, 2), Gs::new(2));
        let m0 = s.model_hold(0, 0, true);
        let m1 = s.model_hold(1, 1, false);
        s.model_queue_global(gs.all());
        let other = {
            let gs = gs.clone();
            thread::spawn(move || {
                work(s, m1, &gs, |i| {
                    if i == 0 {
                        gs.await_found(1)
                    }
                })
            })
        };
        work(s, m0, &gs, |i| {
            if i == 0 {
                gs.await_found(1)
            }
        });
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// A spinning M that has just dropped its P (M1) finds work and no P: M2, in transit, took the P for a G of the global
/// queue and trusted M1 to look further, and so did M0 when it made a G that it needs to run. When M2 then runs dry, it
/// must know.
#[test]
fn spinner_finds_work_but_no_p() {
    explore(2, || {
        let (s, gs) = (sched(3, 2), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_dropped_p(1);
        s.model_queue_global(&gs.all()[..1]);
        let maker = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_new(m0, gs.g(1));
                gs.await_found(1);
                loom::skip_branch();
                work(s, m0, &gs, |_| {})
            })
        };
        let spinner = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_stop_looking(m1);
                work(s, m1, &gs, |_| {})
            })
        };
        work(s, &s.allm[2], &gs, |_| {});
        maker.join().unwrap();
        spinner.join().unwrap();
        check_end(s, &gs)
    })
}
