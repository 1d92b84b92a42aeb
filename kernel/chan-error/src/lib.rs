//! What channel operations answer when they do not succeed: the same in the kernel (`csp::chan`) and in programs of ring 3
//! (`rt::chan`).
#![no_std]

use core::fmt;

/// The channel is closed, or nobody is left to receive. Gives the value back.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (tx, rx) = csp::chan(0);
/// drop(rx);
/// let error = tx.send("lost").unwrap_err();
/// assert_eq!((error.to_string(), error.0), ("send on closed channel".into(), "lost"));
/// # });
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// Why `try_send` did not send. Gives the value back.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{TrySendError, chan};
/// let (tx, _rx) = chan(0);
/// assert_eq!(tx.try_send(1), Err(TrySendError::Full(1))); // no receiver waits
/// # });
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// The buffer is full, or (capacity 0) no receiver waits.
    Full(T),
    /// The channel is closed, or nobody is left to receive.
    Closed(T),
}

/// Why `try_recv` did not receive.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let (tx, rx) = csp::chan::<u32>(0);
/// drop(tx);
/// let error = rx.try_recv().unwrap_err();
/// assert_eq!(error.to_string(), "receive on closed and drained channel");
/// # });
/// ```
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum TryRecvError {
    /// Nothing is there now.
    Empty,
    /// Closed and drained: nothing will ever come.
    Closed,
}

impl<T> TrySendError<T> {
    /// The value that was not sent.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (tx, _rx) = csp::chan(0);
    /// let full = tx.try_send("kept").unwrap_err();
    /// assert_eq!(full.into_inner(), "kept");
    /// # });
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(v) | TrySendError::Closed(v) => v,
        }
    }
}

// `Debug` asks nothing of T, so that `tx.send(x).unwrap()` works for every T.
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "Full(..)",
            TrySendError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("send on closed channel")
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "send would block",
            TrySendError::Closed(_) => "send on closed channel",
        })
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "receive would block",
            TryRecvError::Closed => "receive on closed and drained channel",
        })
    }
}

impl<T> core::error::Error for SendError<T> {}
impl<T> core::error::Error for TrySendError<T> {}
impl core::error::Error for TryRecvError {}
