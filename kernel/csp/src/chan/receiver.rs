//! The receiving side.

use super::core::Chan;
use super::{Iter, TryRecvError, park_forever};
use alloc::sync::Arc;
use base::shim::Ordering;
use core::fmt;
use core::mem::MaybeUninit;
use sched::WaitReason;

/// The receiving side of a channel. A clone is another handle to the same side: each value goes to one receiver. When the last one is
/// dropped, the channel closes, and what lies in the buffer is dropped.
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
    pub(super) chan: Option<Arc<Chan<T>>>,
}

impl<T> Receiver<T> {
    /// Receives a value, waits for one. `None`: the channel is closed and drained.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(0);
    /// csp::go(move || tx.send(1).unwrap()); // and then the last sender is dropped
    /// assert_eq!(rx.recv(), Some(1));
    /// assert_eq!(rx.recv(), None);
    /// # });
    /// ```
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
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{TryRecvError, chan};
    /// let (tx, rx) = chan(1);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// # });
    /// ```
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

    /// Closes the channel, as [`Sender::close`](super::Sender::close) does. On [`never()`](super::never()) it
    /// does nothing and answers `false`.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(1);
    /// assert!(rx.close());
    /// assert!(tx.send(1).is_err());
    /// assert!(!csp::never::<u32>().close());
    /// # });
    /// ```
    pub fn close(&self) -> bool {
        self.chan.as_ref().is_some_and(|chan| {
            chan.check_bubble();
            chan.close()
        })
    }

    /// Values in the buffer at this moment.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(3);
    /// tx.send('a').unwrap();
    /// assert_eq!(rx.len(), 1);
    /// assert_eq!(csp::never::<u32>().len(), 0);
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.chan.as_ref().map_or(0, |chan| chan.len())
    }

    /// Whether the buffer is empty at this moment.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(3);
    /// tx.send('a').unwrap();
    /// rx.recv();
    /// assert!(rx.is_empty());
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the channel is closed; values may still lie in its buffer.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(3);
    /// tx.send('a').unwrap();
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// assert_eq!(rx.recv(), Some('a'));
    /// # });
    /// ```
    pub fn is_closed(&self) -> bool {
        self.chan.as_ref().is_some_and(|chan| chan.is_closed())
    }

    /// Values that the buffer has room for.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (_tx, rx) = csp::chan::<u32>(3);
    /// assert_eq!(rx.capacity(), 3);
    /// # });
    /// ```
    pub fn capacity(&self) -> usize {
        self.chan.as_ref().map_or(0, |chan| chan.cap())
    }

    /// Receives until the channel is closed and drained (Go: `for v := range ch`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, rx) = csp::chan(3);
    /// csp::go(move || (1..=10).for_each(|n| tx.send(n).unwrap()));
    /// assert_eq!(rx.iter().filter(|n| n % 2 == 0).sum::<u32>(), 30);
    /// # });
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
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

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let Some(chan) = &self.chan else { return };
        // AcqRel: as for `Sender`.
        if chan.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            chan.close_at_last("receiver");
            chan.discard();
            if let Some(timer) = &chan.timer {
                timer.stop();
            }
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({} of {})", self.len(), self.capacity())
    }
}
