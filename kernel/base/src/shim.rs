//! The shim: everything that a protocol does to shared memory goes through here, so that the model checker sees the
//! same source as the kernel.
//!
//! `core`'s atomics in every ordinary build, loom's under `--cfg ringo_loom`, shuttle's under `--cfg ringo_shuttle`. Loom
//! explores all interleavings of a few steps, with the orderings that are written down; shuttle some of the whole scheduler's,
//! picked at random, and takes each ordering for SeqCst: a fence that is missing is loom's to find.

#[cfg(not(any(ringo_loom, ringo_shuttle)))]
pub use core::{
    cell::Cell,
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
        AtomicUsize, Ordering, fence,
    },
};
/// As `core`'s; loom reports accesses that are not ordered.
#[cfg(ringo_loom)]
pub use loom::cell::Cell;
#[cfg(ringo_loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
        AtomicUsize, Ordering, fence,
    },
};
#[cfg(ringo_shuttle)]
pub use shuttle::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    },
};

/// A step of a loop that waits for another CPU.
///
/// `pause` costs 140 ns and QEMU's global lock under multi-threaded TCG, but under `-icount` a loop without it keeps
/// the only thread; so one round in 64 executes it.
#[inline]
pub fn spin_wait(round: u32) {
    if cfg!(any(ringo_loom, ringo_shuttle)) || round % 64 == 63 {
        spin_loop()
    }
}

/// Something that one at a time may use, where loom does not see what it is: models report uses that are not ordered. Nothing
/// in ordinary builds.
pub struct Watch {
    #[cfg(ringo_loom)]
    uses: loom::cell::UnsafeCell<()>,
}

// SAFETY: there is nothing in it; what loom keeps beside it belongs to the model's one thread of the host.
#[cfg(ringo_loom)]
unsafe impl Sync for Watch {}

impl Watch {
    crate::const_fn! {
        /// Not used yet.
        pub const fn new() -> Self {
            Self {
                #[cfg(ringo_loom)]
                uses: loom::cell::UnsafeCell::new(()),
            }
        }
    }

    /// The caller uses it now, alone.
    #[inline(always)]
    pub fn used(&self) {
        #[cfg(ringo_loom)]
        self.uses.with_mut(|_| ())
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

/// A function that is `const` but in models: loom's atomics and locks are made while the model runs.
#[macro_export]
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
