//! Atomics of what waits and wakes: `core`'s, loom's in models.

#[cfg(not(ringo_loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
#[cfg(ringo_loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Bugs that are planted in models only, where they must be found.
#[cfg(ringo_loom)]
pub(crate) use base::mutant::{mutant, order};

/// Is the bug `name` planted in this run? Never, but in models.
#[cfg(not(ringo_loom))]
#[inline(always)]
pub(crate) const fn mutant(_name: &str) -> bool {
    false
}

/// `right`, or none if the bug `name` is planted in this run.
#[cfg(not(ringo_loom))]
#[inline(always)]
pub(crate) const fn order(_name: &str, right: Ordering) -> Ordering {
    right
}

/// A function that is `const` but in models: loom's atomics are made while the model runs.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis const fn $($rest:tt)*) => {
        #[cfg(not(ringo_loom))]
        $(#[$meta])*
        $vis const fn $($rest)*
        #[cfg(ringo_loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
pub(crate) use const_fn;
