//! Tests of concurrent code in a time of their own (Go: package testing/synctest).
//!
//! [`run`] makes a *bubble*: the goroutines inside have a clock that stands still while any of them can go on, and jumps to the
//! next timer when all are *durably blocked*: on channels that were made inside, in a sleep, a `Cond`, a `Semaphore`, a
//! `WaitGroup` or a join. Waits for a mutex, a device or somebody outside are not durable: the clock waits with them.
//!
//! ```
//! # sched::testing::run(2, 2, || {
//! use csp::{synctest, time::{Duration, Instant, sleep}};
//! synctest::run(|| {
//!     let begin = Instant::now();
//!     sleep(Duration::from_secs(3600)); // takes no time
//!     assert_eq!(begin.elapsed(), Duration::from_secs(3600)); // to the nanosecond
//! });
//! # });
//! ```
//!
//! Channels of a bubble are for its goroutines alone: who sends, receives or closes outside panics. Handles may be dropped anywhere;
//! but if that closes a channel that a goroutine of the bubble waits for, it is the same error.
//!
//! The clock of a whole program: `--set clock=virtual`.

use core::panic::Location;

/// Runs `f` as the first goroutine of a new bubble, and returns when all goroutines of it have ended (Go: `synctest.Test`).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{chan, go, select, synctest, time::{Duration, sleep}};
/// synctest::run(|| {
///     let (tx, answer) = chan(1);
///     go(move || {
///         sleep(Duration::from_secs(10));
///         tx.send("too late").unwrap();
///     });
///     let late = select! {
///         recv(answer) -> _text => false,
///         default(Duration::from_secs(5)) => true,
///     };
///     assert!(late); // always, and at once
///     assert_eq!(answer.recv(), Some("too late"));
/// });
/// # });
/// ```
///
/// # Panics
///
/// If the bubble gets stuck: all inside are blocked and no timer will wake one; or `f` has returned (the clock stands still from
/// then on) and others are blocked. Inside another bubble.
#[track_caller]
pub fn run(f: impl FnOnce() + Send + 'static) {
    sched::bubble::run(f, Location::caller())
}

/// Waits until all other goroutines of the bubble are durably blocked (Go: `synctest.Wait`).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use core::sync::atomic::{AtomicBool, Ordering::*};
/// use csp::{go, synctest, time::{Duration, sleep}};
/// static DONE: AtomicBool = AtomicBool::new(false);
/// synctest::run(|| {
///     go(|| {
///         sleep(Duration::from_secs(1));
///         DONE.store(true, Release);
///     });
///     synctest::wait();
///     assert!(!DONE.load(Acquire)); // it sleeps
///     sleep(Duration::from_secs(1));
///     synctest::wait();
///     assert!(DONE.load(Acquire)); // it has ended
/// });
/// # });
/// ```
///
/// # Panics
///
/// Outside of bubbles, and while another goroutine of the bubble waits so.
pub fn wait() {
    sched::bubble::wait()
}
