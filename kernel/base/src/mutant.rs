//! Planted bugs. A model that passes proves little until it has failed: each protocol names places at which one fence,
//! check or step can be left out, and the model must catch every one.

use crate::shim::Ordering;

/// `right`, or none if the bug `name` is planted in this run.
#[inline(always)]
pub fn order(name: &str, right: Ordering) -> Ordering {
    if mutant(name) {
        Ordering::Relaxed
    } else {
        right
    }
}

/// Is the bug `name` planted in this run? Constantly false outside the model checker's builds.
#[cfg(not(any(ringo_loom, ringo_shuttle)))]
#[inline(always)]
pub const fn mutant(_name: &str) -> bool {
    false
}

/// Is bug `number` planted in this boot? Constantly false but in builds with the feature `injection`, where a test of
/// the image chooses. Numbers below 10 are bugs of the injected call (`arch`), the others stand in `sched`.
#[inline(always)]
pub fn planted(number: u32) -> bool {
    #[cfg(all(ringo_kernel, feature = "injection"))]
    return arch::bare::planted_bug() == number;
    #[cfg(not(all(ringo_kernel, feature = "injection")))]
    {
        let _ = number;
        false
    }
}

/// Is the bug `name` planted in this run? Named by the environment variable `RINGO_MUTANT`.
#[cfg(any(ringo_loom, ringo_shuttle))]
pub fn mutant(name: &str) -> bool {
    static PLANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    PLANTED
        .get_or_init(|| std::env::var("RINGO_MUTANT").ok())
        .as_deref()
        == Some(name)
}
