//! What a G that does not run is, for a switch.

use core::cell::UnsafeCell;

/// A stopped stack: its stack pointer, below it nothing, above it the six callee-saved registers and a return address.
#[repr(transparent)]
pub struct Context(UnsafeCell<usize>);

// SAFETY: written by `mcall` of the owner, read by the `mcall` that resumes it; the kernel hands the G over in between by
// a queue or a state change with release and acquire.
unsafe impl Sync for Context {}
// SAFETY: a plain word.
unsafe impl Send for Context {}

impl Context {
    /// A context that was never saved; it must not be resumed.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    /// Stores the stack pointer that [`new_context`](crate::new_context) made.
    ///
    /// # Safety
    /// Nobody else uses this context now.
    pub unsafe fn set(&self, sp: usize) {
        // SAFETY: the caller is alone with it.
        unsafe { *self.0.get() = sp }
    }

    /// The saved stack pointer, 0 if none: the start of a stopped G's backtrace.
    ///
    /// # Safety
    /// The G is stopped and stays so during the call.
    pub unsafe fn get(&self) -> usize {
        // SAFETY: nobody writes while the G is stopped.
        unsafe { *self.0.get() }
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}
