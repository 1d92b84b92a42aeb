//! Threads: goroutines of the kernel that run in this process (Go: `newproc` in `runtime/proc.go`; `std::thread`).

use crate::futex;
use crate::shim::{AtomicU32, Ordering, mutant};
use crate::{Result, syscall};
use abi::Call;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::cell::UnsafeCell;

/// Bytes of a thread's stack, if nothing else is said. Memory is taken for the pages that are used.
pub const STACK_BYTES: usize = 64 << 10;

/// Starts a thread that runs `f`.
///
/// # Panics
///
/// If the process may have no more threads or memory: [`Builder::go`] answers that instead.
#[track_caller]
pub fn go<F>(f: F)
where
    F: FnOnce() + Send + 'static,
{
    if let Err(e) = Builder::new().go(f) {
        panic!("cannot start a thread: {e}")
    }
}

/// Starts a thread whose result can be waited for.
///
/// # Panics
///
/// As [`go`].
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().spawn(f) {
        Ok(handle) => handle,
        Err(e) => panic!("cannot start a thread: {e}"),
    }
}

/// Lets others run (Go: `Gosched`).
pub fn yield_now() {
    // SAFETY: touches nothing of ours. It does not fail.
    let _ = unsafe { syscall::call(Call::Yield, []) };
}

/// How to start a thread.
#[derive(Clone, Copy, Debug)]
pub struct Builder {
    stack_bytes: usize,
}

impl Builder {
    /// With a stack of [`STACK_BYTES`].
    pub fn new() -> Builder {
        Builder {
            stack_bytes: STACK_BYTES,
        }
    }

    /// With a stack of at least `bytes`; an unmapped page lies below it.
    pub fn stack_bytes(mut self, bytes: usize) -> Builder {
        self.stack_bytes = bytes;
        self
    }

    /// Starts a thread that runs `f`.
    ///
    /// # Errors
    ///
    /// [`abi::Error::Limit`]: as many threads as there may be; [`abi::Error::OutOfMemory`]: no room for its stack.
    pub fn go<F>(self, f: F) -> Result<()>
    where
        F: FnOnce() + Send + 'static,
    {
        start(Box::new(f), self.stack_bytes)
    }

    /// Starts a thread whose result can be waited for.
    ///
    /// # Errors
    ///
    /// As [`go`](Builder::go).
    pub fn spawn<F, T>(self, f: F) -> Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let packet = Arc::new(Packet {
            done: AtomicU32::new(0),
            value: UnsafeCell::new(None),
        });
        let theirs = packet.clone();
        self.go(move || theirs.fill(f()))?;
        Ok(JoinHandle { packet })
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// Where a thread leaves its result.
struct Packet<T> {
    done: AtomicU32,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the thread writes the value before `done`, the owner of the handle takes it after: one at a time.
unsafe impl<T: Send> Sync for Packet<T> {}

impl<T> Packet<T> {
    fn fill(&self, value: T) {
        // SAFETY: nobody looks before `done`.
        unsafe { *self.value.get() = Some(value) };
        self.done.store(1, Ordering::Release); // pairs with the Acquire of `is_done`
        if !mutant("user_join_wakes_nobody") {
            futex::wake(&self.done, u32::MAX);
        }
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire) == 1
    }
}

/// The result of a thread, to come.
pub struct JoinHandle<T> {
    packet: Arc<Packet<T>>,
}

impl<T> JoinHandle<T> {
    /// Waits for the thread's result.
    pub fn join(self) -> T {
        while !self.packet.is_done() {
            let _ = futex::wait(&self.packet.done, 0);
        }
        // SAFETY: done, and this handle is the only one.
        let value = unsafe { (*self.packet.value.get()).take() };
        value.expect("filled before it was done")
    }

    /// Whether the result is there.
    pub fn is_finished(&self) -> bool {
        self.packet.is_done()
    }
}

/// What a thread runs.
pub(crate) type Body = Box<dyn FnOnce() + Send>;

#[cfg(ringo_user)]
use crate::stack::start;

/// On the host machine: a thread of its, with its own stack.
#[cfg(not(ringo_user))]
fn start(body: Body, _stack_bytes: usize) -> Result<()> {
    #[cfg(not(ringo_loom))]
    std::thread::spawn(body);
    #[cfg(ringo_loom)]
    loom::thread::spawn(body);
    Ok(())
}

#[cfg(all(test, not(ringo_loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn join_gives_the_result() {
        let (tx, rx) = mpsc::channel::<()>();
        let slow = spawn(move || (rx.recv().is_err(), 7));
        assert!(!slow.is_finished());
        drop(tx);
        assert_eq!(slow.join(), (true, 7));
        let quick = spawn(|| "done".to_string());
        while !quick.is_finished() {
            yield_now()
        }
        assert_eq!(quick.join(), "done");
    }
}
