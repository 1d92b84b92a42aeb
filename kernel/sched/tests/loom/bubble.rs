//! Bubbles (`bubble.rs` of the scheduler): I-ACTIVE.
use crate::park::{new_event, wake};
use crate::world::{Gs, check_end, work};
use base::explore;
use loom::thread;
use sched::bubble::Bubble;
use sched::models::sched;
use sched::{Commit, GRef, M, Sched};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// `g` blocks for good.
fn block(s: &Sched, m: &M, g: GRef) {
    unsafe fn stay(_: GRef, _: usize) -> bool {
        true
    }
    g.blocks_durably();
    // SAFETY: `stay` uses nothing; nobody readies it.
    unsafe { s.model_park(m, g, Commit { f: stay, arg: 0 }) };
}

/// G 0 waits until all others are blocked, G 1 blocks at the same time: whoever is last sees it.
#[test]
fn wait_against_block() {
    unsafe fn register(g: GRef, bubble: usize) -> bool {
        // SAFETY: the model holds the bubble.
        unsafe { (*(bubble as *const Bubble)).model_waits(g, false) };
        true
    }
    explore(2, || {
        let (s, gs) = (sched(2, 2), Gs::new(2));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        gs.make_all_runnable();
        s.model_run(m0, gs.g(0));
        s.model_run(m1, gs.g(1));
        let bubble = Bubble::model(gs.all());
        let other = {
            let gs = gs.clone();
            thread::spawn(move || {
                gs.ran_on(1);
                block(s, m1, gs.g(1));
                work(s, m1, &gs, |_| {})
            })
        };
        gs.g(0).blocks_durably();
        let commit = Commit {
            f: register,
            arg: Arc::as_ptr(&bubble) as usize,
        };
        // SAFETY: the bubble readies it once.
        unsafe { s.model_park(m0, gs.g(0), commit) };
        work(s, m0, &gs, |_| {});
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// G 2 waits. G 1 readies G 0, which was blocked, and blocks; G 0 runs and blocks as well. G 2 does not go on before that.
#[test]
fn ready_against_idle() {
    explore(1, || {
        let (s, gs) = (sched(2, 2), Gs::new(3));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        gs.make_all_runnable();
        let bubble = Bubble::model(gs.all());
        // G 2 and then G 0 have parked on M0 before.
        let event = Arc::new(new_event());
        s.model_run(m0, gs.g(2));
        block(s, m0, gs.g(2));
        s.model_run(m0, gs.g(0));
        gs.g(0).blocks_durably();
        assert!(crate::park::wait(s, m0, &gs, &event));
        bubble.model_waits(gs.g(2), false);
        s.model_run(m1, gs.g(1));
        let [blocked_again, blocked] = [(); 2].map(|_| Arc::new(AtomicBool::new(false)));
        let run = |m: &'static M, gs: Arc<Gs>| {
            let (blocked_again, blocked) = (blocked_again.clone(), blocked.clone());
            move |i: usize| match i {
                0 => {
                    s.model_run(m, gs.g(0));
                    blocked_again.store(true, SeqCst);
                    block(s, m, gs.g(0))
                }
                _ => assert!(
                    blocked_again.load(SeqCst) && blocked.load(SeqCst),
                    "the waiter went on while another could run"
                ),
            }
        };
        let other = {
            let (gs, run, blocked) = (gs.clone(), run(m1, gs.clone()), blocked.clone());
            thread::spawn(move || {
                gs.ran_on(1);
                wake(s, m1, &event);
                blocked.store(true, SeqCst);
                block(s, m1, gs.g(1));
                work(s, m1, &gs, run)
            })
        };
        work(s, m0, &gs, run(m0, gs.clone()));
        other.join().unwrap();
        check_end(s, &gs)
    })
}

/// G 0, the only one, ends on M1, while M0, which has just moved the clock for it, looks once more: it is not stuck.
#[test]
fn end_against_look() {
    explore(3, || {
        let (s, gs) = (sched(2, 2), Gs::new(1));
        let m0 = s.model_hold(0, 0, false);
        let m1 = s.model_hold(1, 1, false);
        let bubble = Bubble::model(gs.all());
        let other = {
            let bubble = bubble.clone();
            thread::spawn(move || bubble.model_left(m1))
        };
        bubble.model_look(m0);
        other.join().unwrap();
        assert_eq!(bubble.model_stuck(), None, "it ended well");
        // SAFETY: the threads have ended.
        unsafe { sched::models::free(s) }
    })
}
