//! Atomics of what waits and wakes: `core`'s, loom's in models.

#[cfg(not(ringo_loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
#[cfg(ringo_loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

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
