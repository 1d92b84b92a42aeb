//! The channel itself (Go: `hchan` in `runtime/chan.go`): a ring of values, two lists of waiting Gs, one lock.
//!
//! Invariants, with the lock free:
//! * at most one of `recvq` and `sendq` has waiters (a `select` on both sides of one channel apart);
//! * a receiver waits only while the buffer is empty, a sender only while it is full;
//! * nobody waits on a closed channel.

use super::error::{TryRecvError, TrySendError};
use crate::waitq::{Batch, Popped, WaitQueue, Waiter, unlock_then_ready};
use ::core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use alloc::collections::VecDeque;
use base::{Rank, SpinGuard, SpinLock};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use sched::{GRef, WaitReason};

/// A channel of `T`.
pub(crate) struct Chan<T> {
    lock: SpinLock<()>,
    /// Beside the lock, not inside it: `select` holds several locks whose guards it has given up.
    state: UnsafeCell<State<T>>,
    glance: Glance,
    cap: usize,
    /// Living `Sender`s; the last one closes.
    pub(super) senders: AtomicUsize,
    /// Living `Receiver`s; when the last one goes, sends fail.
    pub(super) receivers: AtomicUsize,
}

/// What the lock protects.
pub(crate) struct State<T> {
    buf: VecDeque<T>,
    closed: bool,
    pub(crate) recvq: WaitQueue,
    pub(crate) sendq: WaitQueue,
}

/// Copies of the state for looks without the lock; written under it, before it is dropped.
struct Glance {
    len: AtomicUsize,
    receiver_waits: AtomicBool,
    sender_waits: AtomicBool,
    closed: AtomicBool,
}

// SAFETY: `state` is reached under `lock` only; values of T move between Gs on different CPUs, which `T: Send` allows.
unsafe impl<T: Send> Sync for Chan<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Chan<T> {}

/// What [`Locked::send_now`] did.
pub(crate) enum Sent {
    /// The value went; this G, if any, received it and is to be readied once the lock is dropped.
    Done(Option<GRef>),
    /// Nothing moved: the channel is closed.
    Closed,
    /// Nothing moved: the caller would have to wait.
    WouldBlock,
}

/// What [`Locked::recv_now`] did.
pub(crate) enum Received {
    /// A value came; this G, if any, was a parked sender and is to be readied once the lock is dropped.
    Done(Option<GRef>),
    /// Nothing came and nothing will: closed and drained.
    Closed,
    /// The caller would have to wait.
    WouldBlock,
}

impl<T> Chan<T> {
    /// A channel with room for `cap` values (Go: `makechan`).
    ///
    /// # Panics
    ///
    /// If the buffer is larger than memory can be, or than memory is.
    pub(super) fn new(cap: usize) -> Chan<T> {
        let mut buf = VecDeque::new();
        if let Err(e) = buf.try_reserve_exact(cap) {
            panic!(
                "chan: no room for {cap} elements of {} bytes: {e}",
                size_of::<T>()
            );
        }
        Chan {
            lock: SpinLock::new(Rank::Channel, ()),
            state: UnsafeCell::new(State {
                buf,
                closed: false,
                recvq: WaitQueue::new(),
                sendq: WaitQueue::new(),
            }),
            glance: Glance {
                len: AtomicUsize::new(0),
                receiver_waits: AtomicBool::new(false),
                sender_waits: AtomicBool::new(false),
                closed: AtomicBool::new(false),
            },
            cap,
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
        }
    }

    pub(super) fn cap(&self) -> usize {
        self.cap
    }

    /// Values in the buffer: a plain read (Go: `chanlen`).
    pub(super) fn len(&self) -> usize {
        self.glance.len.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.glance.closed.load(Ordering::Acquire)
    }

    pub(crate) fn lock(&self) -> Locked<'_, T> {
        Locked {
            guard: self.lock.lock(),
            chan: self,
        }
    }

    /// Sends the value at `elem`, waits if need be. True: the value is gone. False: closed, the value is still there.
    ///
    /// # Safety
    ///
    /// `elem` points to an initialised value that nobody else uses; on true it is moved out.
    pub(super) unsafe fn send(&self, elem: *mut T) -> bool {
        let mut locked = self.lock();
        // SAFETY: the caller's promise.
        match unsafe { locked.send_now(elem) } {
            Sent::Done(woken) => {
                locked.unlock(woken);
                true
            }
            Sent::Closed => {
                locked.unlock(None);
                false
            }
            Sent::WouldBlock => {
                let w = Waiter::new(elem.cast());
                // SAFETY: `w` lives in this frame, which we leave only once a waker has popped it.
                unsafe { locked.state().sendq.push_back(&w) };
                locked.park(WaitReason::ChanSend);
                w.success.get()
            }
        }
    }

    /// Receives into `out`, waits if need be. False: closed and drained, `out` is untouched.
    ///
    /// # Safety
    ///
    /// `out` may be written.
    pub(super) unsafe fn recv(&self, out: *mut T) -> bool {
        let mut locked = self.lock();
        // SAFETY: the caller's promise.
        match unsafe { locked.recv_now(out) } {
            Received::Done(woken) => {
                locked.unlock(woken);
                true
            }
            Received::Closed => {
                locked.unlock(None);
                false
            }
            Received::WouldBlock => {
                let w = Waiter::new(out.cast());
                // SAFETY: `w` lives in this frame, which we leave only once a waker has popped it.
                unsafe { locked.state().recvq.push_back(&w) };
                locked.park(WaitReason::ChanReceive);
                w.success.get()
            }
        }
    }

    /// Sends without waiting.
    pub(super) fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        // Two single reads, in this order (Go: `chansend`): a closed channel never turns from "ready" to "not ready",
        // so if it is not ready now, there was a moment after the first read at which it was open and not ready.
        if !self.is_closed() && self.looks_full() {
            return Err(TrySendError::Full(value));
        }
        let mut value = MaybeUninit::new(value);
        let mut locked = self.lock();
        // SAFETY: initialised, and read again below only where it was not moved out.
        let sent = unsafe { locked.send_now(value.as_mut_ptr()) };
        let woken = if let Sent::Done(w) = sent { w } else { None };
        locked.unlock(woken);
        match sent {
            Sent::Done(_) => Ok(()),
            // SAFETY: nothing moved.
            Sent::Closed => Err(TrySendError::Closed(unsafe { value.assume_init() })),
            // SAFETY: nothing moved.
            Sent::WouldBlock => Err(TrySendError::Full(unsafe { value.assume_init() })),
        }
    }

    /// Receives without waiting.
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        // Emptiness first, then `closed` (Go: `chanrecv`; the other order answered "not ready" on a closed channel,
        // golang/go #32529): open after it was seen empty means open and empty at the first read.
        if self.looks_empty() && !self.is_closed() {
            return Err(TryRecvError::Empty);
        }
        let mut out = MaybeUninit::<T>::uninit();
        let mut locked = self.lock();
        // SAFETY: room for a T.
        let received = unsafe { locked.recv_now(out.as_mut_ptr()) };
        let woken = if let Received::Done(w) = received {
            w
        } else {
            None
        };
        locked.unlock(woken);
        match received {
            // SAFETY: `recv_now` wrote it.
            Received::Done(_) => Ok(unsafe { out.assume_init() }),
            Received::Closed => Err(TryRecvError::Closed),
            Received::WouldBlock => Err(TryRecvError::Empty),
        }
    }

    /// Closes (Go: `closechan`). All receivers wake with nothing, then all senders with their values back, after the
    /// lock was dropped. False: it was closed before.
    pub(super) fn close(&self) -> bool {
        let mut locked = self.lock();
        let state = locked.state();
        if core::mem::replace(&mut state.closed, true) {
            locked.unlock(None);
            return false;
        }
        let receivers: Batch = state.recvq.pop_all();
        let senders: Batch = state.sendq.pop_all();
        locked.unlock(None);
        // With preemption on: there may be a hundred thousand of them.
        receivers.ready(false);
        senders.ready(false);
        true
    }

    /// Drops what lies in the buffer: nobody is left to receive it.
    pub(super) fn discard(&self) {
        let mut locked = self.lock();
        let left = core::mem::take(&mut locked.state().buf);
        locked.unlock(None);
        // The values' destructors may do anything, so they run without the lock.
        drop(left);
    }

    /// Go: `full`.
    fn looks_full(&self) -> bool {
        if self.cap == 0 {
            !self.glance.receiver_waits.load(Ordering::Acquire)
        } else {
            self.glance.len.load(Ordering::Acquire) == self.cap
        }
    }

    /// Go: `empty`.
    fn looks_empty(&self) -> bool {
        if self.cap == 0 {
            !self.glance.sender_waits.load(Ordering::Acquire)
        } else {
            self.glance.len.load(Ordering::Acquire) == 0
        }
    }
}

/// The channel with its lock held.
pub(crate) struct Locked<'a, T> {
    chan: &'a Chan<T>,
    guard: SpinGuard<'a, ()>,
}

impl<T> Locked<'_, T> {
    pub(crate) fn state(&mut self) -> &mut State<T> {
        // SAFETY: `guard` is this channel's lock, and `self` is borrowed as long as the state.
        unsafe { &mut *self.chan.state.get() }
    }

    /// Drops the lock, then readies `woken`.
    pub(crate) fn unlock(mut self, woken: Option<GRef>) {
        self.publish();
        match woken {
            Some(g) => unlock_then_ready(self.guard, g),
            None => drop(self.guard),
        }
    }

    /// Parks the calling G; the lock is dropped on g0 once the G's state is `waiting`, so that whoever finds its waiter
    /// finds a G that is really asleep (golang/go #40641).
    fn park(mut self, reason: WaitReason) {
        self.publish();
        sched::park_unlock(self.guard, reason);
    }

    fn publish(&mut self) {
        let glance = &self.chan.glance;
        let state = self.state();
        // Release: pairs with the Acquire loads of `looks_full`, `looks_empty`, `is_closed`, `len`.
        glance.len.store(state.buf.len(), Ordering::Release);
        glance
            .receiver_waits
            .store(!state.recvq.is_empty(), Ordering::Release);
        glance
            .sender_waits
            .store(!state.sendq.is_empty(), Ordering::Release);
        glance.closed.store(state.closed, Ordering::Release);
    }

    /// Sends if that needs no waiting (Go: `chansend` up to the parking).
    ///
    /// # Safety
    ///
    /// `elem` points to a value that is moved out if the answer is `Done`, and not otherwise.
    pub(crate) unsafe fn send_now(&mut self, elem: *const T) -> Sent {
        let cap = self.chan.cap;
        let state = self.state();
        if state.closed {
            return Sent::Closed;
        }
        if let Some(receiver) = state.recvq.pop() {
            // Straight to the receiver: the buffer is empty, or there is none.
            // SAFETY: its `elem` is room for a T on a parked G's stack.
            unsafe {
                receiver
                    .waiter()
                    .elem
                    .cast::<T>()
                    .copy_from_nonoverlapping(elem, 1)
            };
            return Sent::Done(Some(receiver.succeed()));
        }
        if state.buf.len() < cap {
            // SAFETY: the caller gives the value up.
            state.buf.push_back(unsafe { elem.read() });
            return Sent::Done(None);
        }
        Sent::WouldBlock
    }

    /// Receives if that needs no waiting (Go: `chanrecv` up to the parking, and `recv`).
    ///
    /// # Safety
    ///
    /// `out` may be written; it is, if the answer is `Done`.
    pub(crate) unsafe fn recv_now(&mut self, out: *mut T) -> Received {
        let state = self.state();
        if let Some(head) = state.buf.pop_front() {
            // SAFETY: the caller's promise.
            unsafe { out.write(head) };
            // A parked sender means that the buffer was full: its value takes the place at the tail, so order holds.
            let woken = state.sendq.pop().map(|sender: Popped| {
                // SAFETY: its `elem` is a value on a parked G's stack; `succeed` tells the G that it is gone.
                state
                    .buf
                    .push_back(unsafe { sender.waiter().elem.cast::<T>().read() });
                sender.succeed()
            });
            return Received::Done(woken);
        }
        if let Some(sender) = state.sendq.pop() {
            // SAFETY: as above, from stack to stack.
            unsafe { out.copy_from_nonoverlapping(sender.waiter().elem.cast::<T>(), 1) };
            return Received::Done(Some(sender.succeed()));
        }
        if state.closed {
            Received::Closed
        } else {
            Received::WouldBlock
        }
    }
}
