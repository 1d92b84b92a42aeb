//! Who finds that no thread of a process can ever go on, against those who wake, who end, and the clock.
use crate::futex::{AT, TIME_NS, World};
use crate::world::{explore, g, gs, saw};
use abi::{Error, FOREVER};
use base::{Rank, SpinLock};
use csp::waitq::WaitQueue;
use sched::WaitReason;
use sched::models::{as_m, free, sched, set_clock};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use user::asleep::Asleep;
use user::futex::Waited;
use user::wait::{Closing, Waits};

/// One sleeps. Another wakes it, and ends; meanwhile the third falls asleep: the one that was woken runs.
#[test]
fn woken_while_another_ends() {
    explore(3, &["it fell asleep"], || {
        let asleep = Asleep::default();
        for _ in 0..3 {
            asleep.begins()
        }
        assert!(!asleep.falls(false));
        gs([
            g(|| {
                assert!(!asleep.falls(false), "the woken one runs");
                saw("it fell asleep")
            }),
            g(|| {
                asleep.woken(1);
                assert!(!asleep.ends(), "the woken one runs");
            }),
        ])
    })
}

/// Two fall asleep, one of them until its time is up; their words have locks of their own.
#[test]
fn one_whose_time_will_be_up() {
    explore(2, &["both sleep"], || {
        let asleep = Asleep::default();
        asleep.begins();
        asleep.begins();
        gs([
            g(|| assert!(!asleep.falls(true), "time goes on")),
            g(|| assert!(!asleep.falls(false), "time goes on")),
        ]);
        asleep.runs(true, false);
        assert!(asleep.falls(false));
        saw("both sleep")
    })
}

/// One waits, and ends once it is woken; the other wakes it, and waits for something that never comes. Whoever comes last says so,
/// and nobody before.
#[test]
fn the_last_one_is_told() {
    let outcomes = ["the one that ended", "the one that fell asleep"];
    explore(3, &outcomes, || {
        let w = World::of_one_process(2);
        let about_to_sleep = AtomicBool::new(false); // beside the model
        gs([
            g(|| {
                assert!(matches!(
                    w.wait(FOREVER),
                    Ok(Waited::Woken) | Err(Error::Again)
                ));
                if w.asleep().ends() {
                    assert!(about_to_sleep.load(Relaxed), "the waker runs");
                    w.stop.stop();
                    saw("the one that ended")
                }
            }),
            g(|| {
                w.change();
                about_to_sleep.store(true, Relaxed);
                match w.wait_at(AT + 4, 1, FOREVER) {
                    Ok(Waited::NobodyWakes) => saw("the one that fell asleep"),
                    other => assert_eq!(other, Err(Error::Killed)),
                }
            }),
        ])
    })
}

/// One waits for ever, the other until its time is up, and wakes the first: neither is dead.
#[test]
fn time_goes_on() {
    explore(2, &["it had changed", "woken"], || {
        set_clock(0, 0);
        let s = sched(2, 2);
        let (m0, m1) = (s.model_hold(0, 0, false), s.model_hold(1, 1, false));
        as_m(m0, || {
            let w = World::of_one_process(2);
            let w = &w;
            gs([
                g(move || {
                    assert_eq!(w.wait_at(AT + 4, 0, TIME_NS), Err(Error::TimedOut));
                    w.change();
                }),
                g(move || {
                    saw(match w.wait(FOREVER) {
                        Ok(Waited::Woken) => "woken",
                        Ok(Waited::NobodyWakes) => panic!("time goes on"),
                        Err(error) => {
                            assert_eq!(error, Error::Again);
                            "it had changed"
                        }
                    })
                }),
                g(move || {
                    while as_m(m1, || s.model_run_timers(m1, 0, TIME_NS)) == 0 {
                        base::shim::spin_loop()
                    }
                }),
            ]);
        });
        // SAFETY: the threads have ended.
        unsafe { free(s) }
    })
}

/// Two wait, each for the other: one of them is told, the other is ended.
#[test]
fn one_of_two_is_told() {
    explore(4, &["told"], || {
        let w = World::of_one_process(2);
        let wait = |at| match w.wait_at(at, 0, FOREVER) {
            Ok(Waited::NobodyWakes) => {
                assert!(!w.stop.is_stopped(), "once");
                w.stop.stop();
                saw("told")
            }
            other => assert_eq!(other, Err(Error::Killed)),
        };
        gs([g(|| wait(AT)), g(|| wait(AT + 4))])
    })
}

/// A handle is closed on which one waits, who then ends. Another waits for a word, which the closer changes before it sleeps until that one
/// changes it in turn: all is well.
#[test]
fn closing_disturbs_no_sleeper() {
    explore(2, &["it had changed", "woken"], || {
        let w = World::of_one_process(3);
        let (nothing, closing) = (
            SpinLock::new(Rank::Channel, WaitQueue::new()),
            Closing::new(),
        );
        gs([
            g(|| {
                closing.close(&w.stop);
                w.change();
                let answer = w.wait_at(AT + 4, 1, FOREVER);
                assert!(
                    matches!(answer, Ok(Waited::Woken) | Err(Error::Again)),
                    "all is well"
                )
            }),
            g(|| {
                let waits = Waits::new(&w.stop);
                let mut wait = waits.wait_on(&closing, WaitReason::IoWait);
                let answer: Result<(), _> = wait.until(&nothing, |q| q, |_| None);
                assert_eq!(answer, Err(Error::BadHandle));
                drop(wait);
                assert!(!w.asleep().ends(), "all is well")
            }),
            g(|| {
                saw(match w.wait(FOREVER) {
                    Ok(Waited::Woken) => "woken",
                    Ok(Waited::NobodyWakes) => panic!("all is well"),
                    Err(_) => "it had changed",
                });
                w.change_to(2, AT + 4);
            }),
        ])
    })
}
