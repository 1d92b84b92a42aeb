//! Channels, with Go's semantics in Rust's forms (Go: `runtime/chan.go`).
//!
//! | | Go | here |
//! |---|---|---|
//! | create | `make(chan T, n)` | [`chan::<T>(n)`](chan), two handles, both `Clone` |
//! | send on closed | panics | [`Sender::send`] gives the value back in an error |
//! | receive on closed | drains, then zero and `false` | drains, then `None` |
//! | close twice | panics | harmless, answers `false` |
//! | nobody left on the other side | waits for ever | last sender gone: closed; last receiver gone: sends fail |
//! | nil channel | waits for ever | [`never()`] |

mod core;
mod error;
mod iter;
#[doc(hidden)]
pub mod select;
#[cfg(test)]
mod select_tests;
mod state;
#[cfg(test)]
mod tests;

pub use error::{SendError, TryRecvError, TrySendError};
pub use iter::{IntoIter, Iter};

use self::core::Chan;
use ::core::fmt;
use ::core::mem::MaybeUninit;
use alloc::sync::{Arc, Weak};
use base::PreemptGuard;
use base::mutant::order;
use base::shim::Ordering;
use sched::{Commit, WaitReason};

/// A new channel with room for `cap` values; 0: each send hands its value to a receiver.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (tx, rx) = csp::chan::<u32>(0);
/// csp::go(move || {
///     for i in 0..3 {
///         tx.send(i).unwrap();
///     }
/// });
/// let got: Vec<u32> = rx.into_iter().collect();
/// assert_eq!(got, [0, 1, 2]);
/// # });
/// ```
///
/// # Panics
///
/// If there is no memory for `cap` values.
pub fn chan<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let chan = Arc::new(Chan::new(cap));
    (Sender { chan: chan.clone() }, Receiver { chan: Some(chan) })
}

/// A channel on which nothing ever comes, and which is never closed (Go: a nil channel).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{chan, never, select};
/// let (tx, rx) = chan::<u32>(1);
/// tx.send(1).unwrap();
/// // A case that is off.
/// let off = never();
/// let got = select! { recv(off) -> v => v, recv(rx) -> v => v };
/// assert_eq!(got, Some(1));
/// # });
/// ```
pub const fn never<T>() -> Receiver<T> {
    Receiver { chan: None }
}

/// Where a timer puts its ticks.
pub(crate) struct TickTo<T>(Weak<Chan<T>>);

impl<T> TickTo<T> {
    /// A tick; it is lost if the one before was not received yet, or nobody is left to receive: false.
    pub(crate) fn send(&self, value: T) -> bool {
        self.0
            .upgrade()
            .is_some_and(|chan| chan.try_send(value).is_ok())
    }

    /// Takes the last tick back; false if it was received, or there was none.
    pub(crate) fn take_back(&self) -> bool {
        self.0.upgrade().is_some_and(|chan| chan.take().is_ok())
    }

    /// Whether anybody waits for a tick.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.0.upgrade().is_some_and(|chan| chan.receiver_waits())
    }
}

/// A channel on which a timer ticks; the last receiver that is dropped stops it.
pub(crate) fn of_timer<T>(
    make: impl FnOnce(TickTo<T>) -> Arc<sched::timer::Timer>,
) -> (Arc<sched::timer::Timer>, Receiver<T>) {
    let mut timer = None;
    let chan = Arc::new_cyclic(|chan| {
        let made = make(TickTo(chan.clone()));
        timer = Some(made.clone());
        Chan::of_timer(made)
    });
    (timer.expect("made above"), Receiver { chan: Some(chan) })
}

/// The sending side of a channel. A clone is another handle to the same side.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{TrySendError, chan};
/// let (tx, rx) = chan::<u32>(1);
/// tx.send(1).unwrap();
/// assert_eq!((tx.len(), tx.capacity(), tx.is_empty()), (1, 1, false));
/// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
/// assert!(tx.close() && tx.is_closed() && !tx.close());
/// assert_eq!(tx.send(3).unwrap_err().0, 3); // here Go panics
/// assert_eq!(rx.recv(), Some(1));
/// # });
/// ```
pub struct Sender<T> {
    chan: Arc<Chan<T>>,
}

/// The receiving side of a channel. A clone is another handle to the same side: each value goes to one receiver.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{TryRecvError, chan};
/// let (tx, rx) = chan::<u32>(3);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// for i in 0..3 {
///     tx.clone().send(i).unwrap();
/// }
/// assert_eq!((rx.recv(), rx.len(), rx.capacity()), (Some(0), 2, 3));
/// drop(tx); // the last sender closes
/// assert!(rx.is_closed());
/// assert_eq!(rx.iter().collect::<Vec<_>>(), [1, 2]);
/// assert_eq!((rx.recv(), rx.try_recv()), (None, Err(TryRecvError::Closed)));
/// # });
/// ```
pub struct Receiver<T> {
    chan: Option<Arc<Chan<T>>>,
}

impl<T> Sender<T> {
    /// Sends `value`; waits while the buffer is full, or (capacity 0) until a receiver takes it.
    ///
    /// # Errors
    ///
    /// Gives the value back if the channel is closed or nobody is left to receive, also if that happens while it waits
    /// (Go panics).
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.chan.check_bubble();
        let mut value = MaybeUninit::new(value);
        // SAFETY: initialised, and looked at below only if it was not moved out.
        if unsafe { self.chan.send(value.as_mut_ptr()) } {
            Ok(())
        } else {
            // SAFETY: `send` answered that the value is still there.
            Err(SendError(unsafe { value.assume_init() }))
        }
    }

    /// Sends `value` if that needs no waiting (Go: `select` with `default`).
    ///
    /// # Errors
    ///
    /// Gives the value back, with the reason.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.chan.check_bubble();
        self.chan.try_send(value)
    }

    /// Closes the channel: what lies in the buffer can still be received, all who wait wake. Answers whether this call
    /// closed it; a second one does nothing (Go panics).
    pub fn close(&self) -> bool {
        self.chan.check_bubble();
        self.chan.close()
    }

    /// Values in the buffer at this moment.
    pub fn len(&self) -> usize {
        self.chan.len()
    }

    /// Whether the buffer is empty at this moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the channel is closed, or nobody is left to receive.
    pub fn is_closed(&self) -> bool {
        self.chan.is_closed()
    }

    /// Values that the buffer has room for.
    pub fn capacity(&self) -> usize {
        self.chan.cap()
    }
}

impl<T> Receiver<T> {
    /// Receives a value, waits for one. `None`: the channel is closed and drained.
    pub fn recv(&self) -> Option<T> {
        let Some(chan) = &self.chan else {
            park_forever(WaitReason::ChanReceiveNil)
        };
        chan.check_bubble();
        let mut out = MaybeUninit::uninit();
        // SAFETY: room for a T, and `recv` says whether it wrote it.
        unsafe {
            if chan.recv(out.as_mut_ptr()) {
                Some(out.assume_init())
            } else {
                None
            }
        }
    }

    /// Receives a value if one is there (Go: `select` with `default`).
    ///
    /// # Errors
    ///
    /// `Empty`, or `Closed` once the channel is closed and drained.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.chan {
            Some(chan) => {
                chan.check_bubble();
                chan.try_recv()
            }
            None => Err(TryRecvError::Empty),
        }
    }

    /// Closes the channel, as [`Sender::close`] does. On [`never()`] it does nothing and answers `false`.
    pub fn close(&self) -> bool {
        self.chan.as_ref().is_some_and(|chan| {
            chan.check_bubble();
            chan.close()
        })
    }

    /// Values in the buffer at this moment.
    pub fn len(&self) -> usize {
        self.chan.as_ref().map_or(0, |chan| chan.len())
    }

    /// Whether the buffer is empty at this moment.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the channel is closed; values may still lie in its buffer.
    pub fn is_closed(&self) -> bool {
        self.chan.as_ref().is_some_and(|chan| chan.is_closed())
    }

    /// Values that the buffer has room for.
    pub fn capacity(&self) -> usize {
        self.chan.as_ref().map_or(0, |chan| chan.cap())
    }

    /// Receives until the channel is closed and drained (Go: `for v := range ch`).
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }
}

/// Parks the calling G for good. If all others do so too, the deadlock report names the reason.
pub(crate) fn park_forever(reason: WaitReason) -> ! {
    unsafe fn stay(_: sched::GRef, _: usize) -> bool {
        true
    }
    loop {
        let commit = Commit { f: stay, arg: 0 };
        sched::current().blocks_durably();
        // SAFETY: `stay` uses nothing; that nobody readies the G is what is wanted.
        unsafe { sched::gopark(PreemptGuard::new(), reason, commit) };
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Relaxed: this handle keeps the count above 0 (as in `Arc`).
        self.chan.senders.fetch_add(1, Ordering::Relaxed);
        Sender {
            chan: self.chan.clone(),
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        if let Some(chan) = &self.chan {
            // Relaxed: as for `Sender`.
            chan.receivers.fetch_add(1, Ordering::Relaxed);
        }
        Receiver {
            chan: self.chan.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // AcqRel: pairs with itself: what the other handles did happens before the close.
        let order = order("last_sender_relaxed", Ordering::AcqRel);
        if self.chan.senders.fetch_sub(1, order) == 1 {
            self.chan.close();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(chan) = &self.chan else { return };
        // AcqRel: as for `Sender`.
        if chan.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            chan.close();
            chan.discard();
            if let Some(timer) = &chan.timer {
                timer.stop();
            }
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({} of {})", self.len(), self.capacity())
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({} of {})", self.len(), self.capacity())
    }
}
