//! Going idle against waking up (`idle.rs` of the scheduler).
use crate::world::{Gs, check_end, work};
use base::explore;
use loom::thread;
use sched::models::sched;
use sched::{GRef, M, Sched};

/// M0's G makes work and then needs it to have run; M1 comes from where `m1` has brought it.
fn make_against(
    bound: usize,
    m1: fn(&'static Sched) -> &'static M,
    make: fn(&'static Sched, &M, GRef),
) {
    explore(bound, move || {
        let (s, gs) = (sched(2, 2), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let m1 = m1(s);
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, m1, &gs, |_| {}))
        };
        make(s, m0, gs.g(0));
        gs.await_found(0);
        work(s, m0, &gs, |_| {});
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// M1 has run dry and goes idle.
fn dry(s: &'static Sched) -> &'static M {
    s.model_hold(1, 1, false)
}

/// M0's G makes a G.
#[test]
fn make_against_idle() {
    make_against(3, dry, |s, m, g| s.model_new(m, g))
}

/// The clock wakes one: it waits apart from the others.
#[test]
fn woken_against_idle() {
    make_against(3, dry, |s, m, g| s.model_woken(m, g))
}

/// M1 is in transit: it has no P and is not on the idle list yet; its P is idle.
#[test]
fn make_against_transit() {
    make_against(3, |s| &s.allm[1], |s, m, g| s.model_new(m, g))
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

/// M0 puts two Gs into the global queue and then takes both out, one of them to its own ring; M1, trusted to look, has
/// just dropped its P. It sees the second in one place or the other.
#[test]
fn batch_in_flight() {
    explore(2, || {
        let (s, gs) = (sched(2, 2), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_dropped_p(1);
        let spinner = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_stop_looking(m1);
                work(s, m1, &gs, |i| need_the_other(&gs, i))
            })
        };
        s.model_new_global(m0, gs.g(0));
        s.model_new_global(m0, gs.g(1));
        work(s, m0, &gs, |i| need_the_other(&gs, i));
        spinner.join().unwrap();
        check_end(s, &gs)
    })
}

/// G 0 needs G 1 to have run.
fn need_the_other(gs: &Gs, i: usize) {
    if i == 0 {
        gs.await_found(1)
    }
}

/// M0 and M1 each make a G that they need. M2 is in transit: the first wake-up finds its P and no M, and the second maker
/// may have trusted the first.
#[test]
fn two_makers_one_in_transit() {
    explore(1, || {
        let (s, gs) = (sched(3, 3), Gs::new(2));
        let holders = [0, 1].map(|i| (i, s.model_hold(i, i, false)));
        let makers = holders.map(|(i, m)| {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_new(m, gs.g(i));
                gs.await_found(i);
                if gs.all_found() {
                    loom::skip_branch()
                }
                work(s, m, &gs, |_| {})
            })
        });
        work(s, &s.allm[2], &gs, |_| {});
        for m in makers {
            m.join().unwrap()
        }
        check_end(s, &gs)
    })
}

/// A timer that is due, as models see it: the message that it sends.
struct Alarm(loom::sync::mpsc::Sender<()>, loom::sync::mpsc::Receiver<()>);

impl Alarm {
    fn new() -> Self {
        let (a, b) = loom::sync::mpsc::channel();
        Alarm(a, b)
    }
    /// M0's G adds it, due at `when_ns`, and runs on until it has fired.
    fn add_and_await(&self, s: &Sched, m: &M, when_ns: u64) {
        unsafe fn fire(arg: usize, _: u64) {
            // SAFETY: the alarm outlives the call, see below.
            unsafe { &*(arg as *const Alarm) }.0.send(()).unwrap()
        }
        // SAFETY: it is waited for.
        unsafe { s.model_add_timer(m, when_ns, fire, self as *const Alarm as usize) };
        self.1.recv().unwrap();
        loom::skip_branch()
    }
}

/// M0's G adds a timer and keeps its CPU, which does not tick; M1 goes idle and must look at it.
#[test]
fn timer_against_idle() {
    explore(3, || {
        let (s, gs) = (sched(2, 2), Gs::new(0));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, m1, &gs, |_| {}))
        };
        Alarm::new().add_and_await(s, m0, 1);
        work(s, m0, &gs, |_| {});
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// The same, and M1 is the timekeeper, whose earlier deadline passes just now: M0 may find the time kept or M1 gone.
#[test]
fn timer_against_timekeeper() {
    explore(3, || {
        let (s, gs) = (sched(2, 2), Gs::new(0));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_keeps_time(1, 1);
        let other = {
            let gs = gs.clone();
            thread::spawn(move || {
                s.model_deadline_passed(m1);
                work(s, m1, &gs, |_| {})
            })
        };
        Alarm::new().add_and_await(s, m0, 2);
        work(s, m0, &gs, |_| {});
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// `needspinning` was left behind, and both Ms that are about to drop their Ps without having spun may see it; one does.
/// It finds the first of two Gs, which needs the second: the duty must go on to the other M.
#[test]
fn needspinning_is_taken_once() {
    explore(1, || {
        let (s, gs) = (sched(3, 3), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        let dry = [1, 2].map(|i| s.model_hold(i, i, false));
        s.model_needspinning();
        let (done, both) = loom::sync::mpsc::channel();
        let others = dry.map(|m| {
            let (gs, done) = (gs.clone(), done.clone());
            thread::spawn(move || {
                s.model_go_idle(m);
                work(s, m, &gs, |i| {
                    if i == 0 {
                        gs.await_found(1);
                        done.send(()).unwrap()
                    }
                })
            })
        });
        s.model_new(m0, gs.g(0));
        s.model_new(m0, gs.g(1));
        both.recv().unwrap();
        loom::skip_branch();
        work(s, m0, &gs, |_| {});
        for o in others {
            o.join().unwrap()
        }
        check_end(s, &gs)
    })
}

/// M0's G makes a G, stops the world and starts it again, and then needs the new G to run. M1 has run dry: it may spin,
/// be trusted, and have to stop; it may drop its P before the stop or after.
#[test]
fn stop_against_idle() {
    explore(2, || {
        let (s, gs) = (sched(2, 2), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        let other = {
            let gs = gs.clone();
            thread::spawn(move || work(s, m1, &gs, |_| {}))
        };
        s.model_new(m0, gs.g(0));
        s.model_stop_world(m0, || {
            assert!(s.model_p_stands(1), "P1 while the world stands");
        });
        gs.await_found(0);
        work(s, m0, &gs, |_| {});
        other.join().unwrap();
        check_end(s, &gs)
    })
}
