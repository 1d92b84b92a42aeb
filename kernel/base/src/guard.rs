//! Guards: values that prove a state of this CPU.

use core::marker::PhantomData;

/// Proof that this CPU switches to no other G while it lives.
///
/// Per-CPU data (the current M, its P) is reached through `&PreemptGuard` and lent for its lifetime. Dropping the last
/// one looks at the CPU's pending work and serves it.
#[must_use = "preemption is enabled again when the guard is dropped"]
pub struct PreemptGuard(PhantomData<*const ()>);

impl PreemptGuard {
    /// Raise this CPU's preemption count.
    #[inline(always)]
    pub fn new() -> Self {
        arch::preempt_disable();
        Self(PhantomData)
    }

    /// Take over a count that somebody else raised: the scheduler's, on g0, or the one of a G that was just resumed.
    ///
    /// # Safety
    /// The count is at least 1 and one unit of it belongs to nobody else.
    #[inline(always)]
    pub unsafe fn adopt() -> Self {
        Self(PhantomData)
    }

    /// Give the count to somebody else: it stays raised.
    #[inline(always)]
    pub fn leave_raised(self) {
        core::mem::forget(self)
    }
}

impl Default for PreemptGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for PreemptGuard {
    #[inline(always)]
    fn drop(&mut self) {
        arch::preempt_enable()
    }
}

/// Proof that interrupts of this CPU are disabled while it lives.
#[must_use = "interrupts are enabled again when the guard is dropped"]
pub struct IrqGuard {
    were_enabled: bool,
    _not_send: PhantomData<*const ()>,
}

impl IrqGuard {
    /// Disable interrupts, remember what they were.
    #[inline]
    pub fn new() -> Self {
        Self {
            were_enabled: arch::irq_save(),
            _not_send: PhantomData,
        }
    }
}

impl Default for IrqGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for IrqGuard {
    #[inline]
    fn drop(&mut self) {
        arch::irq_restore(self.were_enabled)
    }
}
