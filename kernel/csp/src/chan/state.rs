//! What a channel's lock protects, and the two operations that need no waiting. The lock is held throughout.

use crate::waitq::WaitQueue;
use alloc::collections::VecDeque;
use base::mutant::mutant;
use sched::GRef;

/// Values and waiters.
///
/// With the lock free:
/// * at most one of `recvq` and `sendq` has waiters (a `select` on both sides of one channel apart);
/// * a receiver waits only while the buffer is empty, a sender only while it is full;
/// * nobody waits on a closed channel.
pub(super) struct State<T> {
    pub(super) buf: VecDeque<T>,
    cap: usize,
    pub(super) closed: bool,
    pub(super) recvq: WaitQueue,
    pub(super) sendq: WaitQueue,
}

/// What [`State::send_now`] did.
pub(super) enum Sent {
    /// The value went; this G, if any, received it and is to be readied once the lock is dropped.
    Done(Option<GRef>),
    /// Nothing moved: the channel is closed.
    Closed,
    /// Nothing moved: the caller would have to wait.
    WouldBlock,
}

/// What [`State::recv_now`] did.
pub(super) enum Received {
    /// A value came; this G, if any, was a parked sender and is to be readied once the lock is dropped.
    Done(Option<GRef>),
    /// Nothing came and nothing will: closed and drained.
    Closed,
    /// The caller would have to wait.
    WouldBlock,
}

impl<T> State<T> {
    /// Open and empty, with room for `cap` values.
    ///
    /// # Panics
    ///
    /// If the buffer is larger than memory can be, or than memory is.
    pub(super) fn new(cap: usize) -> State<T> {
        let mut buf = VecDeque::new();
        if let Err(e) = buf.try_reserve_exact(cap) {
            panic!(
                "chan: no room for {cap} elements of {} bytes: {e}",
                size_of::<T>()
            );
        }
        State {
            buf,
            cap,
            closed: false,
            recvq: WaitQueue::new(),
            sendq: WaitQueue::new(),
        }
    }

    /// One that waits, on either side.
    pub(super) fn first_waiter(&self) -> Option<GRef> {
        self.recvq.first().or_else(|| self.sendq.first())
    }

    /// Sends if that needs no waiting (Go: `chansend` up to the parking).
    ///
    /// # Safety
    ///
    /// `elem` points to a value that is moved out if the answer is `Done`, and not otherwise.
    pub(super) unsafe fn send_now(&mut self, elem: *const T) -> Sent {
        if self.closed {
            return Sent::Closed;
        }
        if let Some(receiver) = self.recvq.pop() {
            let to = receiver.waiter().elem.cast::<T>();
            if mutant("value_after_wake") {
                sched::goready(receiver.waiter().g);
                receiver.succeed();
                return Sent::Done(None);
            }
            // Straight to the receiver: the buffer is empty, or there is none.
            // SAFETY: `to` is room for a T on a parked G's stack.
            unsafe { to.copy_from_nonoverlapping(elem, 1) };
            return Sent::Done(Some(receiver.succeed()));
        }
        if self.buf.len() < self.cap {
            // SAFETY: the caller gives the value up.
            self.buf.push_back(unsafe { elem.read() });
            return Sent::Done(None);
        }
        Sent::WouldBlock
    }

    /// Receives if that needs no waiting (Go: `chanrecv` up to the parking, and `recv`).
    ///
    /// # Safety
    ///
    /// `out` may be written; it is, if the answer is `Done`.
    pub(super) unsafe fn recv_now(&mut self, out: *mut T) -> Received {
        if let Some(head) = self.buf.pop_front() {
            // SAFETY: the caller's promise.
            unsafe { out.write(head) };
            // A parked sender means that the buffer was full: its value takes the place at the tail, so order holds.
            if mutant("full_buffer_forgets_sender") {
                return Received::Done(None);
            }
            let woken = self.sendq.pop().map(|sender| {
                let from = sender.waiter().elem.cast::<T>();
                // SAFETY: a value on a parked G's stack; `succeed` tells the G that it is gone.
                self.buf.push_back(unsafe { from.read() });
                sender.succeed()
            });
            return Received::Done(woken);
        }
        if let Some(sender) = self.sendq.pop() {
            let from = sender.waiter().elem.cast::<T>();
            // SAFETY: as above, from stack to stack.
            unsafe { out.copy_from_nonoverlapping(from, 1) };
            return Received::Done(Some(sender.succeed()));
        }
        if self.closed {
            Received::Closed
        } else {
            Received::WouldBlock
        }
    }
}
