//! Timers against those who receive, stop and reset: nothing from before comes after (Go 1.23).
use crate::world::{Letter, explore, g, gs, saw};
use csp::time::{Duration, Instant, Ticker, Timer};
use csp::{chan, select};
use sched::models::{as_m, free, parks, sched, set_clock};
use sched::{M, Sched};

const FIRST_NS: u64 = 100;
const LATER_NS: u64 = 1_000;

/// Two Ms with a P each. `f` runs on M0, on whose P timers lie; M1 serves them.
fn with_timers(f: impl FnOnce(&'static Sched, &'static M)) {
    set_clock(0, 0);
    let s = sched(2, 2);
    let (m0, m1) = (s.model_hold(0, 0, false), s.model_hold(1, 1, false));
    as_m(m0, || f(s, m1));
    // SAFETY: the threads have ended.
    unsafe { free(s) }
}

fn timer() -> Timer {
    Timer::new(Duration::from_nanos(FIRST_NS))
}

/// M1 fires what is due on M0's P by then.
fn fire(s: &Sched, m: &'static M, now_ns: u64) -> u32 {
    as_m(m, || s.model_run_timers(m, 0, now_ns))
}

fn tick_ns(tick: Instant) -> u64 {
    tick.since_start().as_nanos() as u64
}

#[test]
fn receive_against_fire() {
    explore(3, &["it had fired", "waited"], || {
        with_timers(|s, m1| {
            let timer = timer();
            gs([
                g(|| {
                    assert_eq!(tick_ns(timer.recv()), FIRST_NS);
                    saw(["it had fired", "waited"][parks() as usize])
                }),
                g(|| assert_eq!(fire(s, m1, FIRST_NS), 1)),
            ])
        })
    })
}

/// Nobody has received: stopped it is, and nothing comes.
#[test]
fn stop_against_fire() {
    explore(3, &["fired", "fired not"], || {
        with_timers(|s, m1| {
            let timer = timer();
            gs([
                g(|| {
                    assert!(timer.stop(), "it was set, or its tick was taken back");
                    assert!(timer.receiver().try_recv().is_err(), "a tick after stop")
                }),
                g(|| saw(["fired not", "fired"][fire(s, m1, FIRST_NS) as usize])),
            ]);
            assert!(timer.receiver().try_recv().is_err(), "a tick after stop")
        })
    })
}

/// What comes is of the second time.
#[test]
fn reset_against_fire() {
    explore(3, &["fired", "fired not"], || {
        with_timers(|s, m1| {
            let timer = timer();
            gs([
                g(|| {
                    let was_set = timer.reset(Duration::from_nanos(LATER_NS));
                    assert!(was_set, "it was set, or its tick was taken back");
                    assert!(timer.receiver().try_recv().is_err(), "a tick of before")
                }),
                g(|| saw(["fired not", "fired"][fire(s, m1, FIRST_NS) as usize])),
            ]);
            fires_later(s, m1, &timer)
        })
    })
}

/// It is stopped and set anew while the old entry is under way: the old one is stale, the new one fires.
#[test]
fn stop_and_reset_against_fire() {
    explore(3, &["fired", "fired not"], || {
        with_timers(|s, m1| {
            let timer = timer();
            gs([
                g(|| {
                    assert!(timer.stop());
                    assert!(!timer.reset(Duration::from_nanos(LATER_NS)))
                }),
                g(|| saw(["fired not", "fired"][fire(s, m1, FIRST_NS) as usize])),
            ]);
            fires_later(s, m1, &timer)
        })
    })
}

/// It fires at `LATER_NS`, and not before.
fn fires_later(s: &Sched, m1: &'static M, timer: &Timer) {
    assert!(timer.receiver().try_recv().is_err(), "a tick of before");
    assert_eq!(fire(s, m1, LATER_NS), 1, "timers that fire later");
    gs([g(|| assert_eq!(tick_ns(timer.recv()), LATER_NS))])
}

/// One receives, one stops: either the tick is received or it is taken back.
#[test]
fn stop_against_receive() {
    explore(3, &["received", "stopped"], || {
        with_timers(|s, m1| {
            let timer = timer();
            assert_eq!(fire(s, m1, FIRST_NS), 1);
            let (mut stopped, mut received) = (false, false);
            gs([
                g(|| stopped = timer.stop()),
                g(|| received = as_m(m1, || timer.receiver().try_recv().is_ok())),
            ]);
            assert_ne!(stopped, received, "stopped, received");
            saw(if stopped { "stopped" } else { "received" })
        })
    })
}

/// A tick is received while the next is due: whether that one was noticed or not, the ticker goes on.
#[test]
fn receive_against_rest() {
    explore(3, &["came in time", "was left out"], || {
        with_timers(|s, m1| {
            let ticker = Ticker::new(Duration::from_nanos(FIRST_NS));
            assert_eq!(fire(s, m1, FIRST_NS), 1);
            set_clock(2 * FIRST_NS, 0);
            gs([
                g(|| assert_eq!(tick_ns(ticker.recv()), FIRST_NS)),
                g(|| assert_eq!(fire(s, m1, 2 * FIRST_NS), 1)),
            ]);
            match ticker.receiver().try_recv() {
                Ok(second) => {
                    assert_eq!(tick_ns(second), 2 * FIRST_NS);
                    saw("came in time")
                }
                Err(_) => saw("was left out"),
            }
            assert_eq!(fire(s, m1, LATER_NS), 1, "timers that fire later");
            assert_eq!(ticker.receiver().try_recv().map(tick_ns), Ok(LATER_NS))
        })
    })
}

/// A select waits for a value and for a timer: one wins. A value that was handed over is received, whatever the clock says.
#[test]
fn select_against_fire() {
    explore(2, &["received", "timed out"], || {
        with_timers(|s, m1| {
            let timer = timer();
            let (tx, rx) = chan::<Letter>(0);
            let (mut received, mut sent) = (false, false);
            gs([
                g(|| {
                    received = select! {
                        recv(rx) -> l => { assert_eq!(l.map(|l| l.read()), Some(7)); true }
                        recv(timer.receiver()) -> at => { assert_eq!(at.map(tick_ns), Some(FIRST_NS)); false }
                    }
                }),
                g(|| sent = tx.try_send(Letter::new(7)).is_ok()),
                g(|| assert_eq!(fire(s, m1, FIRST_NS), 1)),
            ]);
            assert_eq!(received, sent, "received, sent");
            saw(if received { "received" } else { "timed out" })
        })
    })
}
