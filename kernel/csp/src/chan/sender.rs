//! The sending side.

use super::core::Chan;
use super::{SendError, TrySendError};
use alloc::sync::Arc;
use base::mutant::order;
use base::shim::Ordering;
use core::fmt;
use core::mem::MaybeUninit;

/// The sending side of a channel. A clone is another handle to the same side. When the last one is dropped, the channel closes.
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
    pub(super) chan: Arc<Chan<T>>,
}

impl<T> Sender<T> {
    /// Sends `value`; waits while the buffer is full, or (capacity 0) until a receiver takes it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{chan, go};
    /// let (tx, rx) = chan(0);
    /// go(move || assert_eq!(rx.recv(), Some("hello")));
    /// tx.send("hello").unwrap(); // returns when the other has it, and
    /// assert!(tx.send("again").is_err()); // nobody is left
    /// # });
    /// ```
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
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{TrySendError, chan};
    /// let (tx, rx) = chan(1);
    /// assert_eq!(tx.try_send(1), Ok(()));
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// drop(rx);
    /// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    /// # });
    /// ```
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
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(2);
    /// tx.send(1).unwrap();
    /// assert!(tx.close());
    /// assert_eq!((rx.recv(), rx.recv()), (Some(1), None));
    /// assert!(!tx.close());
    /// # });
    /// ```
    pub fn close(&self) -> bool {
        self.chan.check_bubble();
        self.chan.close()
    }

    /// Values in the buffer at this moment.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, _rx) = csp::chan(3);
    /// tx.send('a').unwrap();
    /// assert_eq!(tx.len(), 1);
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.chan.len()
    }

    /// Whether the buffer is empty at this moment.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(3);
    /// assert!(tx.is_empty());
    /// tx.send('a').unwrap();
    /// assert!(!tx.is_empty());
    /// # drop(rx)
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the channel is closed, or nobody is left to receive.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan::<u32>(3);
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// # });
    /// ```
    pub fn is_closed(&self) -> bool {
        self.chan.is_closed()
    }

    /// Values that the buffer has room for.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, _rx) = csp::chan::<u32>(3);
    /// assert_eq!(tx.capacity(), 3);
    /// # });
    /// ```
    pub fn capacity(&self) -> usize {
        self.chan.cap()
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

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // AcqRel: pairs with itself: what the other handles did happens before the close.
        let order = order("last_sender_relaxed", Ordering::AcqRel);
        if self.chan.senders.fetch_sub(1, order) == 1 {
            self.chan.close_at_last("sender");
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({} of {})", self.len(), self.capacity())
    }
}
