//! The shim: everything that a protocol does to shared memory goes through here, so that the model checker sees the
//! same source as the kernel.
//!
//! `core`'s atomics in every ordinary build, loom's under `--cfg ringo_loom`.

#[cfg(not(ringo_loom))]
pub use core::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    },
};
#[cfg(ringo_loom)]
pub use loom::{
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
    if cfg!(ringo_loom) || round % 64 == 63 {
        spin_loop()
    }
}
