//! The channel itself (Go: `hchan` in `runtime/chan.go`): its state, one lock, and how a G waits for it.

use super::state::{Received, Sent, State};
use super::{TryRecvError, TrySendError};
use crate::waitq::{Batch, Waiter, unlock_then_ready};
use alloc::sync::Arc;
use base::mutant::{mutant, order};
use base::shim::{AtomicBool, AtomicUsize, Ordering, Watch};
use base::{Rank, SpinGuard, SpinLock};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use sched::{GRef, WaitReason};

/// A channel of `T`.
pub(super) struct Chan<T> {
    lock: SpinLock<()>,
    /// Beside the lock, not inside it: `select` holds several locks whose guards it has given up.
    state: UnsafeCell<State<T>>,
    watch: Watch,
    glance: Glance,
    /// What the buffer has room for.
    cap: usize,
    /// Living `Sender`s; the last one closes.
    pub(super) senders: AtomicUsize,
    /// Living `Receiver`s; when the last one goes, sends fail.
    pub(super) receivers: AtomicUsize,
    /// The timer whose ticks come here, if it is such a channel: it has no senders and looks unbuffered.
    pub(super) timer: Option<Arc<sched::timer::Timer>>,
    /// Who will close it, for as long as anybody could see that.
    _keeps: Option<Arc<dyn Send + Sync>>,
    /// Number of the bubble that it was made in, 0: none.
    pub(super) bubble: u64,
}

/// Copies of the state for looks without the lock; written under it, before it is dropped.
struct Glance {
    len: AtomicUsize,
    receiver_waits: AtomicBool,
    sender_waits: AtomicBool,
    closed: AtomicBool,
}

impl Glance {
    /// Called under the lock.
    fn publish<T>(&self, state: &State<T>) {
        // Release: pairs with the Acquire loads of `looks_full`, `looks_empty`, `is_closed`, `len`.
        self.len.store(state.buf.len(), Ordering::Release);
        self.receiver_waits
            .store(!state.recvq.is_empty(), Ordering::Release);
        self.sender_waits
            .store(!state.sendq.is_empty(), Ordering::Release);
        self.closed
            .store(state.closed, order("closed_relaxed", Ordering::Release));
    }
}

// SAFETY: `state` is reached under `lock` only; values of T move between Gs on different CPUs, which `T: Send` allows.
unsafe impl<T: Send> Sync for Chan<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Chan<T> {}

impl<T> Chan<T> {
    /// A channel with room for `cap` values (Go: `makechan`).
    ///
    /// # Panics
    ///
    /// If the buffer is larger than memory can be, or than memory is.
    pub(super) fn new(cap: usize) -> Chan<T> {
        Chan {
            lock: SpinLock::new(Rank::Channel, ()),
            state: UnsafeCell::new(State::new(cap)),
            watch: Watch::new(),
            glance: Glance {
                len: AtomicUsize::new(0),
                receiver_waits: AtomicBool::new(false),
                sender_waits: AtomicBool::new(false),
                closed: AtomicBool::new(false),
            },
            cap,
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
            timer: None,
            _keeps: None,
            bubble: sched::bubble::current_id(),
        }
    }

    /// The channel of `timer`, with room for its last tick.
    pub(super) fn of_timer(timer: Arc<sched::timer::Timer>) -> Chan<T> {
        Chan {
            timer: Some(timer),
            ..Chan::new(1)
        }
    }

    /// A channel without senders that `closer` will close.
    pub(super) fn closed_by(closer: Arc<dyn Send + Sync>) -> Chan<T> {
        Chan {
            _keeps: Some(closer),
            ..Chan::new(0)
        }
    }

    /// Channels of a bubble are for its goroutines.
    #[inline]
    pub(super) fn check_bubble(&self) {
        if self.bubble != 0 && self.bubble != sched::bubble::current_id() {
            outside()
        }
    }

    pub(super) fn cap(&self) -> usize {
        if self.timer.is_some() { 0 } else { self.cap }
    }

    /// Values in the buffer: a plain read (Go: `chanlen`).
    pub(super) fn len(&self) -> usize {
        if self.timer.is_some() {
            return 0; // Go 1.23: nothing is ever seen to lie there
        }
        self.glance.len.load(Ordering::Acquire)
    }

    pub(super) fn receiver_waits(&self) -> bool {
        self.glance.receiver_waits.load(Ordering::Acquire)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.glance.closed.load(Ordering::Acquire)
    }

    pub(super) fn lock(&self) -> Locked<'_, T> {
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
                if mutant("send_no_recheck") {
                    locked.unlock(None);
                    locked = self.lock()
                }
                let w = Waiter::new(elem.cast());
                // SAFETY: `w` lives in this frame, which we leave only once a waker has popped it.
                unsafe { locked.sendq.push_back(&w) };
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
                // While the line is at hand: once it is unlocked, others write there.
                let ticks = self.ticks();
                locked.unlock(woken);
                if ticks {
                    self.tick_taken()
                }
                true
            }
            Received::Closed => {
                locked.unlock(None);
                false
            }
            Received::WouldBlock => {
                if mutant("recv_no_recheck") {
                    locked.unlock(None);
                    locked = self.lock()
                }
                let w = Waiter::new(out.cast());
                // SAFETY: `w` lives in this frame, which we leave only once a waker has popped it.
                unsafe { locked.recvq.push_back(&w) };
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
        let (value, ticks) = self.take_now()?;
        if ticks {
            self.tick_taken()
        }
        Ok(value)
    }

    /// Is it a timer's?
    pub(super) fn ticks(&self) -> bool {
        self.timer.is_some()
    }

    /// A value was taken from the buffer. If it was a tick, its timer may rest for want of that.
    pub(super) fn tick_taken(&self) {
        if let Some(timer) = &self.timer {
            timer.tick_taken()
        }
    }

    /// Receives without waiting, for the timer itself, which is locked.
    pub(super) fn take(&self) -> Result<T, TryRecvError> {
        self.take_now().map(|(value, _)| value)
    }

    /// A value, and whether `tick_taken` is to be called.
    fn take_now(&self) -> Result<(T, bool), TryRecvError> {
        // Emptiness first, then `closed` (Go: `chanrecv`; the other order answered "not ready" on a closed channel,
        // golang/go #32529): open after it was seen empty means open and empty at the first read.
        if mutant("closed_before_empty") && !self.is_closed() && self.looks_empty() {
            return Err(TryRecvError::Empty);
        }
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
        let ticks = self.ticks(); // as in `recv`
        locked.unlock(woken);
        match received {
            // SAFETY: `recv_now` wrote it.
            Received::Done(_) => Ok((unsafe { out.assume_init() }, ticks)),
            Received::Closed => Err(TryRecvError::Closed),
            Received::WouldBlock => Err(TryRecvError::Empty),
        }
    }

    /// Closes (Go: `closechan`). All receivers wake with nothing, then all senders with their values back, after the
    /// lock was dropped. False: it was closed before.
    pub(super) fn close(&self) -> bool {
        self.close_locked(self.lock())
    }

    fn close_locked<'a>(&'a self, mut locked: Locked<'a, T>) -> bool {
        if core::mem::replace(&mut locked.closed, true) {
            locked.unlock(None);
            return false;
        }
        let receivers: Batch = locked.recvq.pop_all();
        let senders: Batch = locked.sendq.pop_all();
        if mutant("close_in_two_steps") {
            locked.closed = false;
            locked.unlock(None);
            locked = self.lock();
            locked.closed = true
        }
        locked.unlock(None);
        // With preemption on: there may be a hundred thousand of them.
        if !mutant("close_forgets_receivers") {
            receivers.ready(false)
        }
        if !mutant("close_forgets_senders") {
            senders.ready(false)
        }
        true
    }

    /// The last handle of one side is dropped: closes. If that is outside of the channel's bubble, and somebody inside waits here, it
    /// is an error as all else that is done to it there: he waits for the bubble, whose clock has not waited for this. Nothing is said
    /// while the stack unwinds.
    pub(super) fn close_at_last(&self, side: &str) {
        let locked = self.lock();
        let elsewhere = self.bubble != 0 && self.bubble != sched::bubble::current_id();
        if elsewhere && !unwinds() && locked.first_waiter().is_some_and(sched::bubble::is_foreign) {
            locked.unlock(None);
            panic!("a channel of a bubble is waited for, and its last {side} was dropped outside")
        }
        self.close_locked(locked);
    }

    /// Drops what lies in the buffer: nobody is left to receive it.
    pub(super) fn discard(&self) {
        let mut locked = self.lock();
        let left = core::mem::take(&mut locked.buf);
        locked.unlock(None);
        // The values' destructors may do anything, so they run without the lock.
        drop(left);
    }

    /// The lock itself, for those who gave its guard up; also what channels are told apart by.
    pub(super) fn raw_lock(&self) -> &SpinLock<()> {
        &self.lock
    }

    /// The channel whose lock the caller holds without a guard: runs `f` on its state.
    ///
    /// # Safety
    ///
    /// The caller holds the lock and gave its guard up.
    pub(super) unsafe fn with_state<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> R {
        self.watch.used();
        // SAFETY: the lock is held, and no guard lends the state.
        let state = unsafe { &mut *self.state.get() };
        let result = f(state);
        self.glance.publish(state);
        result
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

/// Does a panic unwind the caller's stack? On the machine a panic is the end.
#[cfg(ringo_kernel)]
fn unwinds() -> bool {
    false
}
/// Does a panic unwind the caller's stack?
#[cfg(not(ringo_kernel))]
fn unwinds() -> bool {
    std::thread::panicking()
}

#[cold]
fn outside() -> ! {
    panic!("a channel of a bubble is used from outside")
}

/// The channel with its lock held.
pub(super) struct Locked<'a, T> {
    chan: &'a Chan<T>,
    guard: SpinGuard<'a, ()>,
}

impl<T> Deref for Locked<'_, T> {
    type Target = State<T>;
    fn deref(&self) -> &State<T> {
        self.chan.watch.used();
        // SAFETY: `guard` is this channel's lock, and `self` is borrowed as long as the state.
        unsafe { &*self.chan.state.get() }
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut State<T> {
        self.chan.watch.used();
        // SAFETY: as above, and `self` is unique.
        unsafe { &mut *self.chan.state.get() }
    }
}

impl<T> Locked<'_, T> {
    /// Drops the lock, then readies `woken`.
    fn unlock(self, woken: Option<GRef>) {
        self.publish();
        match woken {
            Some(g) => unlock_then_ready(self.guard, g),
            None => drop(self.guard),
        }
    }

    /// Parks the calling G; the lock is dropped on g0 once the G's state is `waiting`, so that whoever finds its waiter
    /// finds a G that is really asleep (golang/go #40641).
    fn park(self, reason: WaitReason) {
        self.publish();
        if self.chan.bubble != 0 {
            sched::current().blocks_durably()
        }
        sched::park_unlock(self.guard, reason);
    }

    fn publish(&self) {
        self.chan.glance.publish(self);
    }
}
