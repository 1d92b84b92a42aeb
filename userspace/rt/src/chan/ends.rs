//! The two ends of a channel, and iteration.

use super::core::Chan;
use super::{SendError, TryRecvError, TrySendError};
use crate::shim::Ordering;
use alloc::sync::Arc;

/// The end that sends. A clone is another handle to the same channel; the last one that is dropped closes it.
pub struct Sender<T> {
    chan: Arc<Chan<T>>,
}

/// The end that receives. A clone is another handle to the same channel; when the last one is dropped, sends fail.
pub struct Receiver<T> {
    chan: Arc<Chan<T>>,
}

impl<T> Sender<T> {
    pub(super) fn new(chan: Arc<Chan<T>>) -> Sender<T> {
        Sender { chan }
    }

    /// Sends; waits for room, or (capacity 0) for a receiver.
    ///
    /// # Errors
    ///
    /// The channel is closed, or nobody is left to receive.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.chan.send(value).map_err(SendError)
    }

    /// Sends, if that needs no waiting.
    ///
    /// # Errors
    ///
    /// It would wait, or it is closed.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.chan.try_send(value)
    }
}

impl<T> Receiver<T> {
    pub(super) fn new(chan: Arc<Chan<T>>) -> Receiver<T> {
        Receiver { chan }
    }

    /// Receives; waits for a value. `None`: closed and drained.
    pub fn recv(&self) -> Option<T> {
        self.chan.recv()
    }

    /// Receives, if a value is there.
    ///
    /// # Errors
    ///
    /// Nothing is there, or it is closed and drained.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.chan.try_recv()
    }

    /// Values until the channel is closed and drained.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }
}

macro_rules! both_ends {
    ($end:ident) => {
        impl<T> $end<T> {
            /// Closes the channel. False: it was closed before.
            pub fn close(&self) -> bool {
                self.chan.close()
            }

            /// Values in the buffer.
            pub fn len(&self) -> usize {
                self.chan.len()
            }

            /// Whether the buffer is empty.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether it was closed.
            pub fn is_closed(&self) -> bool {
                self.chan.is_closed()
            }

            /// What the buffer has room for.
            pub fn capacity(&self) -> usize {
                self.chan.cap
            }
        }
    };
}
both_ends!(Sender);
both_ends!(Receiver);

macro_rules! counted {
    ($end:ident, $count:ident) => {
        impl<T> Clone for $end<T> {
            fn clone(&self) -> $end<T> {
                self.chan.$count.fetch_add(1, Ordering::Relaxed); // there is one: ours
                $end {
                    chan: self.chan.clone(),
                }
            }
        }

        impl<T> Drop for $end<T> {
            fn drop(&mut self) {
                // AcqRel: whoever drops the last one closes after all that the others did.
                if self.chan.$count.fetch_sub(1, Ordering::AcqRel) == 1 {
                    self.chan.close();
                }
            }
        }
    };
}
counted!(Sender, senders);
counted!(Receiver, receivers);

/// Iterator of [`Receiver::iter`] and of `&rx`.
pub struct Iter<'a, T> {
    rx: &'a Receiver<T>,
}

/// Iterator that owns its [`Receiver`].
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.rx.recv()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.rx.recv()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}
