//! A lock for the machine layer's own few devices. The kernel's ranked locks live above and cannot be used here.

use super::preempt::{preempt_disable, preempt_enable};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering::*};

/// Test-and-set, no queue: a vCPU that its host took off would block one. Held with preemption off. No interrupt handler
/// takes it (they run no Rust, I-PENDING), so interrupts may stay on.
pub struct Lock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only with `taken` won.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Lock {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `f` alone.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        preempt_disable();
        while !self.try_take() {
            core::hint::spin_loop();
        }
        // SAFETY: `taken` is ours.
        let r = f(unsafe { &mut *self.value.get() });
        self.taken.store(false, Release); // pairs with the Acquire in `try_take`
        preempt_enable();
        r
    }

    /// For the end of the machine: tries `spins` times, then runs `f` all the same; whoever held the lock may be stopped.
    /// Once the others are being stopped, a broken lock is free afterwards: the next line of a report need not wait again.
    /// `f` is told whether the lock was broken.
    pub fn with_or_break<R>(&self, spins: usize, f: impl FnOnce(&mut T, bool) -> R) -> R {
        preempt_disable();
        let mine = (0..spins).any(|_| {
            core::hint::spin_loop();
            self.try_take()
        });
        // SAFETY: ours, or broken on purpose: the devices behind these locks take interleaved bytes without harm.
        let r = f(unsafe { &mut *self.value.get() }, !mine);
        if mine || super::nmi::is_ending() {
            self.taken.store(false, Release); // pairs with the Acquire in `try_take`
        }
        preempt_enable();
        r
    }

    /// Takes it for good, as soon as it is free; or leaves it to its holder, when `patient` says no more.
    pub fn seize(&self, mut patient: impl FnMut() -> bool) {
        preempt_disable();
        while !self.try_take() && patient() {
            core::hint::spin_loop()
        }
    }

    fn try_take(&self) -> bool {
        !self.taken.load(Relaxed) && !self.taken.swap(true, Acquire) // pairs with the Release stores above
    }
}
