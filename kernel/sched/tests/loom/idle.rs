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
