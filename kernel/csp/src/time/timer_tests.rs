//! What the machine is to be made for, and a panic; the rest of Go's tests is in `tests/both/timers.rs`.

use super::{Duration, Instant, Ticker, after_func, sleep};
use crate::{chan, never, select};
use alloc::sync::Arc;

const HOUR: Duration = Duration::from_secs(3600);

/// Go: NewTickerLtZeroDuration.
#[test]
#[should_panic(expected = "a ticker's period is zero")]
fn ticker_of_nothing() {
    Ticker::new(Duration::ZERO);
}

/// The same scheduler with a clock that jumps, on the host machine.
#[test]
fn virtual_clock() {
    let cfg = base::config::Config {
        procs: Some(2),
        clock: base::config::Clock::Virtual,
        ..base::config::Config::DEFAULT
    };
    let real = std::time::Instant::now();
    sched::testing::run_with(cfg, 2, || {
        let begin = Instant::now();
        let gs: std::vec::Vec<_> = (1..=20)
            .map(|i| {
                crate::spawn(move || {
                    sleep(i * HOUR);
                    select! { recv(never::<()>()) -> _v => {}, default(HOUR) => {} }
                })
            })
            .collect();
        gs.into_iter().for_each(crate::JoinHandle::join);
        assert_eq!(begin.elapsed(), 21 * HOUR);
    });
    assert!(real.elapsed() < HOUR);
}

/// What the function of a timer holds goes with its last run, though an old entry of the timer lies in a heap for an hour still.
#[test]
fn what_a_dropped_timer_holds_goes_with_its_last_run() {
    sched::testing::run(2, 2, || {
        for before_it_fires in [true, false] {
            let held = Arc::new(());
            let still = Arc::downgrade(&held);
            let ((tx, started), (go_on, rx)) = (chan(0), chan(0));
            let timer = after_func(HOUR, move || {
                let _ = &held;
                tx.send(()).unwrap();
                rx.recv();
            });
            assert!(timer.reset(Duration::from_millis(5)));
            let timer = (!before_it_fires).then_some(timer);
            started.recv();
            drop(timer);
            go_on.send(()).unwrap();
            let gone = (0..10_000).any(|_| {
                sleep(Duration::from_millis(1));
                still.strong_count() == 0
            });
            assert!(gone, "before it fires: {before_it_fires}");
        }
    });
}
