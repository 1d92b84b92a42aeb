//! The clock, and sleeping.

use crate::syscall;
use abi::{Call, FOREVER};

pub use core::time::Duration;

/// Time since the machine's start. It never goes back.
pub fn now() -> Duration {
    // SAFETY: touches nothing of ours.
    let ns = unsafe { syscall::call(Call::Now, []) }.unwrap_or(0);
    Duration::from_nanos(ns)
}

/// Sleeps that long; other threads have the CPU.
pub fn sleep(duration: Duration) {
    // SAFETY: as above. It does not fail.
    let _ = unsafe { syscall::call(Call::Sleep, [ns(duration)]) };
}

/// Nanoseconds; what is too long for that (584 years) is [`FOREVER`].
pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(FOREVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_cut_to_what_the_kernel_takes() {
        assert_eq!(ns(Duration::from_micros(3)), 3000);
        assert_eq!(ns(Duration::MAX), FOREVER);
    }

    #[test]
    fn sleep_takes_its_time() {
        let start = now();
        sleep(Duration::from_millis(5));
        assert!(now() - start >= Duration::from_millis(5));
    }
}
