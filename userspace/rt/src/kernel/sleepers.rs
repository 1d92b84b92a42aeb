//! The futex of the host machine: one list of sleepers.

use abi::{Error, FOREVER};
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Address and number of each sleeper, the longest asleep first. Whoever was woken is not in it any more.
static SLEEPERS: Mutex<(Vec<(u64, u64)>, u64)> = Mutex::new((Vec::new(), 0));
static WOKEN: Condvar = Condvar::new();

pub(super) fn wait(word: &AtomicU32, expected: u32, timeout: u64) -> i64 {
    let end = (timeout != FOREVER).then(|| Instant::now() + Duration::from_nanos(timeout));
    let mut list = SLEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if word.load(Ordering::SeqCst) != expected {
        return Error::Again as i64;
    }
    let me = list.1;
    list.1 += 1;
    list.0.push((core::ptr::from_ref(word) as u64, me));
    while let Some(place) = list.0.iter().position(|sleeper| sleeper.1 == me) {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        list = match left {
            Some(Duration::ZERO) => {
                list.0.remove(place);
                return Error::TimedOut as i64;
            }
            Some(left) => {
                let waited = WOKEN.wait_timeout(list, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => WOKEN.wait(list).unwrap_or_else(PoisonError::into_inner),
        }
    }
    0
}

pub(super) fn wake(address: u64, n: u64) -> i64 {
    let mut list = SLEEPERS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut woken = 0;
    list.0.retain(|sleeper| {
        let wakes = sleeper.0 == address && woken < n;
        woken += u64::from(wakes);
        !wakes
    });
    WOKEN.notify_all();
    woken as i64
}
