//! The channel itself (Go: `hchan`): its state under one lock, and how a thread waits for it.

use super::{TryRecvError, TrySendError};
use crate::futex;
use crate::shim::{AtomicU32, AtomicUsize, Ordering, mutant, order};
use crate::sync::{Mutex, MutexGuard};
use alloc::collections::VecDeque;
use core::cell::UnsafeCell;
use core::ptr::NonNull;

/// A thread waits: nobody has served it yet.
const WAITS: u32 = 0;
/// Its value has been taken, or one has been given to it.
const SERVED: u32 = 1;
/// The channel was closed; a sender's value is still there.
const CLOSED: u32 = 2;

/// A thread that waits, on its own stack (Go: `sudog`). Whoever takes it out of its queue serves it.
struct Waiter<T> {
    word: AtomicU32,
    value: UnsafeCell<Option<T>>,
}

impl<T> Waiter<T> {
    fn new(value: Option<T>) -> Waiter<T> {
        Waiter {
            word: AtomicU32::new(WAITS),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits until somebody has served it; false: the channel was closed.
    fn wait(&self) -> bool {
        loop {
            // Acquire: pairs with the Release of `serve`; what was done to the value is seen.
            match self.word.load(Ordering::Acquire) {
                WAITS => _ = futex::wait(&self.word, WAITS),
                served => return served == SERVED,
            }
        }
    }
}

/// A [`Waiter`] of another thread's stack. It is there until it was served.
struct WaiterRef<T>(NonNull<Waiter<T>>);

impl<T> WaiterRef<T> {
    /// Wakes its thread. The waiter is gone after the store: only its address is used for the wake-up.
    fn serve(self, how: u32) {
        let waiter = self.0.as_ptr();
        // SAFETY: taken out of the queue, not served yet: its thread waits.
        let word = unsafe { &raw const (*waiter).word };
        // SAFETY: as above. Release: pairs with the Acquire of `wait`.
        unsafe { (*word).store(how, order("user_serve_relaxed", Ordering::Release)) };
        if !mutant("user_serve_wakes_nobody") {
            futex::wake(word, 1);
        }
    }

    /// Its place for a value.
    fn value(&mut self) -> &mut Option<T> {
        // SAFETY: whoever took the waiter out of its queue has it alone; its thread waits.
        unsafe { &mut *(*self.0.as_ptr()).value.get() }
    }
}

struct State<T> {
    buf: VecDeque<T>,
    senders: VecDeque<WaiterRef<T>>,
    receivers: VecDeque<WaiterRef<T>>,
    closed: bool,
}

// SAFETY: the waiters are reached under the channel's lock, and carry values of T between threads.
unsafe impl<T: Send> Send for State<T> {}

/// A channel of `T`.
pub(super) struct Chan<T> {
    state: Mutex<State<T>>,
    /// What the buffer has room for.
    pub(super) cap: usize,
    /// Living `Sender`s; the last one closes.
    pub(super) senders: AtomicUsize,
    /// Living `Receiver`s; when the last one goes, sends fail.
    pub(super) receivers: AtomicUsize,
}

impl<T> Chan<T> {
    pub(super) fn new(cap: usize) -> Chan<T> {
        let state = State {
            buf: VecDeque::with_capacity(cap),
            senders: VecDeque::new(),
            receivers: VecDeque::new(),
            closed: false,
        };
        Chan {
            state: Mutex::new(state),
            cap,
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().buf.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Sends, waits if need be. `Err`: closed, and the value.
    pub(super) fn send(&self, value: T) -> Result<(), T> {
        let mut state = self.state.lock();
        let value = match self.send_now(&mut state, value) {
            Ok(receiver) => {
                drop(state);
                serve(receiver);
                return Ok(());
            }
            Err(TrySendError::Closed(value)) => return Err(value),
            Err(TrySendError::Full(value)) => value,
        };
        let waiter = Waiter::new(Some(value));
        state.senders.push_back(WaiterRef(NonNull::from(&waiter)));
        drop(state);
        match (waiter.wait(), waiter.value.into_inner()) {
            (false, Some(value)) => Err(value),
            _ => Ok(()),
        }
    }

    /// Receives, waits if need be. `None`: closed and drained.
    pub(super) fn recv(&self) -> Option<T> {
        let mut state = self.state.lock();
        match receive_now(&mut state) {
            Ok((value, sender)) => {
                drop(state);
                serve(sender);
                return Some(value);
            }
            Err(TryRecvError::Closed) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if mutant("user_recv_in_two_steps") {
            drop(state);
            state = self.state.lock();
        }
        let waiter = Waiter::new(None);
        state.receivers.push_back(WaiterRef(NonNull::from(&waiter)));
        drop(state);
        waiter.wait();
        waiter.value.into_inner()
    }

    /// Sends without waiting.
    pub(super) fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut state = self.state.lock();
        let receiver = self.send_now(&mut state, value)?;
        drop(state);
        serve(receiver);
        Ok(())
    }

    /// Receives without waiting.
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.state.lock();
        let (value, sender) = receive_now(&mut state)?;
        drop(state);
        serve(sender);
        Ok(value)
    }

    /// Closes (Go: `closechan`). All that wait wake after the lock was dropped. False: it was closed before.
    pub(super) fn close(&self) -> bool {
        let mut state = self.state.lock();
        if core::mem::replace(&mut state.closed, true) {
            return false;
        }
        let mut waiters = core::mem::take(&mut state.receivers);
        if !mutant("user_close_forgets_senders") {
            waiters.append(&mut state.senders);
        }
        drop(state);
        for waiter in waiters {
            waiter.serve(CLOSED)
        }
        true
    }

    /// To a receiver that waits, who is to be served then, or into the buffer.
    fn send_now(
        &self,
        state: &mut MutexGuard<'_, State<T>>,
        value: T,
    ) -> Result<Option<WaiterRef<T>>, TrySendError<T>> {
        if state.closed {
            return Err(TrySendError::Closed(value));
        }
        if let Some(mut receiver) = state.receivers.pop_front() {
            *receiver.value() = Some(value);
            return Ok(Some(receiver));
        }
        if state.buf.len() == self.cap {
            return Err(TrySendError::Full(value));
        }
        state.buf.push_back(value);
        Ok(None)
    }
}

/// The oldest value, and the sender whose value has left it or went into the room that it left.
fn receive_now<T>(
    state: &mut MutexGuard<'_, State<T>>,
) -> Result<(T, Option<WaiterRef<T>>), TryRecvError> {
    let mut sender = state.senders.pop_front();
    let sent = sender.as_mut().and_then(|sender| sender.value().take());
    if let Some(value) = state.buf.pop_front() {
        state.buf.extend(sent);
        return Ok((value, sender));
    }
    match sent {
        Some(value) => Ok((value, sender)),
        None if state.closed => Err(TryRecvError::Closed),
        None => Err(TryRecvError::Empty),
    }
}

fn serve<T>(waiter: Option<WaiterRef<T>>) {
    if let Some(waiter) = waiter {
        waiter.serve(SERVED)
    }
}
