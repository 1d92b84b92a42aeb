//! Frames that have to know when their goroutine ends by `goexit`, which leaves them without returning and runs no
//! destructors (Go: the deferred calls of the runtime's own functions).
//!
//! ```text
//!   G.scope_head ──► innermost frame ──► … ──► outermost ──► 0        each lies on the G's own stack
//! ```

use core::cell::Cell;

/// One of them. The first field of what it belongs to, which its `leave` knows.
#[repr(C)]
pub(crate) struct Frame {
    outer: Cell<*const Frame>,
    /// Called when the goroutine ends without returning from the frame.
    leave: unsafe fn(*const Frame),
}

impl Frame {
    /// A frame that is not entered yet. `leave` gets its address.
    pub(crate) const fn new(leave: unsafe fn(*const Frame)) -> Frame {
        Frame {
            outer: Cell::new(core::ptr::null()),
            leave,
        }
    }

    /// Runs `f` inside of this frame, which is part of `whole`.
    ///
    /// # Safety
    ///
    /// `leave` may be called with the address of `whole` while `f` runs.
    pub(crate) unsafe fn within<W, T>(
        whole: &W,
        frame: impl FnOnce(&W) -> &Frame,
        f: impl FnOnce() -> T,
    ) -> T {
        let me = sched::current();
        let frame = frame(whole);
        debug_assert!(core::ptr::addr_eq(frame, whole), "the first field");
        frame.outer.set(me.scope_head() as *const Frame);
        // SAFETY: this is `me`, and the frame stays in the caller's until it is taken off again. The address is that of the
        // whole, so that `leave` may look at all of it.
        unsafe { me.set_scope_head(whole as *const W as usize) };
        let value = f();
        // SAFETY: this is `me`; the outer frame is still there.
        unsafe { me.set_scope_head(frame.outer.get() as usize) };
        value
    }
}

/// The calling goroutine ends: all frames that it is inside of are told, the innermost first.
pub(crate) fn leave_all() {
    let me = sched::current();
    loop {
        let at = me.scope_head() as *const Frame;
        if at.is_null() {
            return;
        }
        // SAFETY: frames that were entered and not left are above us on this very stack.
        unsafe {
            me.set_scope_head((*at).outer.get() as usize);
            ((*at).leave)(at)
        }
    }
}
