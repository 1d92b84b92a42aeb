//! What the machine is to be made for, and a panic; the rest of Go's tests is in `tests/both/timers.rs`.

use super::{Duration, Instant, Ticker, sleep};
use crate::{never, select};

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
