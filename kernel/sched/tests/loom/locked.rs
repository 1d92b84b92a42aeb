//! Goroutines that are locked to an M: delivered by whoever finds them (`locked.rs` of the scheduler): I-TRAY.
use crate::park::{new_event, wait, wake};
use crate::world::{Gs, check_end, work};
use base::explore;
use loom::thread;
use sched::models::sched;
use std::sync::Arc;

const ELSEWHERE: &str = "G 0 ran elsewhere than it is locked to";

/// M0 has found G 0, which belongs to M1, and goes on with a G that needs G 0 to have run. M1 has run dry: it may hold its P,
/// be on its way to the idle list, or on it.
#[test]
fn deliver_against_idle() {
    explore(3, || {
        let (s, gs) = (sched(2, 2), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, m1, &gs, |_| {}))
        };
        s.model_deliver(m0, 1, gs.g(0));
        gs.await_found(0);
        work(s, m0, &gs, |_| panic!("{ELSEWHERE}"));
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// The same with one P, which M0 has: it goes with G 0, or M0 finds G 0 again when M1 has put it back.
#[test]
fn deliver_with_the_only_p() {
    explore(3, || {
        let (s, gs) = (sched(2, 1), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        s.model_queue(0, gs.g(1));
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, &s.allm[1], &gs, |_| {}))
        };
        s.model_deliver(m0, 1, gs.g(0));
        work(s, m0, &gs, |i| assert_eq!(i, 1, "{ELSEWHERE}"));
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// M0 delivers G 0 to M1, stops the world and starts it again, and then needs G 0. The P that M1 held is not the one that is
/// given out first then. (With one preemption it takes 114 041 interleavings, and holds.)
#[test]
fn deliver_against_stop() {
    explore(0, || {
        let (s, gs) = (sched(3, 3), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let (m2, m1) = (s.model_hold(2, 1, false), s.model_hold(1, 2, false));
        let others = [m1, m2].map(|m| {
            let gs = gs.clone();
            thread::spawn(move || work(s, m, &gs, |_| assert_eq!(m.id(), 1, "{ELSEWHERE}")))
        });
        s.model_deliver(m0, 1, gs.g(0));
        s.model_stop_world(m0, || {});
        gs.await_found(0);
        loom::skip_branch();
        work(s, m0, &gs, |_| panic!("{ELSEWHERE}"));
        for other in others {
            other.join().unwrap()
        }
        check_end(s, &gs)
    })
}

/// G 0, locked to M1, parks; G 1 waits on M1's P, which goes to M2, if that is idle by now. M0 readies G 0 at any moment, and
/// whoever finds it delivers it.
#[test]
fn park_locked_against_ready() {
    explore(2, || {
        let (s, gs) = (sched(3, 2), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        s.model_queue(1, gs.g(1));
        let event = Arc::new(new_event());
        sched::models::make_runnable(gs.g(0));
        s.model_lock(1, gs.g(0));
        s.model_run(m1, gs.g(0));
        let locked = {
            let (gs, event) = (gs.clone(), event.clone());
            thread::spawn(move || {
                if !wait(s, m1, &gs, &event) {
                    gs.ran_on(0)
                }
                work(s, m1, &gs, |_| {})
            })
        };
        let third = {
            let gs = gs.clone();
            thread::spawn(move || work(s, &s.allm[2], &gs, |i| assert_eq!(i, 1, "{ELSEWHERE}")))
        };
        wake(s, m0, &event);
        work(s, m0, &gs, |i| assert_eq!(i, 1, "{ELSEWHERE}"));
        locked.join().unwrap();
        third.join().unwrap();
        check_end(s, &gs)
    })
}
