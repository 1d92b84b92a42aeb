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
mod iter;
mod receiver;
#[doc(hidden)]
pub mod select;
#[cfg(test)]
mod select_tests;
mod sender;
mod state;
#[cfg(test)]
mod tests;

pub use chan_error::{SendError, TryRecvError, TrySendError};
pub use iter::{IntoIter, Iter};
pub use receiver::Receiver;
pub use sender::Sender;

use self::core::Chan;
use alloc::sync::{Arc, Weak};
use base::PreemptGuard;
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

/// The right to close a channel on which nothing is sent.
pub(crate) struct CloserOf(Weak<Chan<()>>);

impl CloserOf {
    /// Closes it, if anybody is left to see that. Nothing happens if it is closed, wherever the caller is.
    pub(crate) fn close(&self) {
        if let Some(chan) = self.0.upgrade()
            && !chan.is_closed()
        {
            chan.check_bubble();
            chan.close();
        }
    }
}

/// A channel on which nothing is sent, and which keeps the one that may close it for as long as it has receivers. `make` gets the
/// right to close it, which does nothing before `make` has returned.
pub(crate) fn closed_by<C: Send + Sync + 'static>(
    make: impl FnOnce(CloserOf) -> Arc<C>,
) -> (Arc<C>, Receiver<()>) {
    let mut closer = None;
    let chan = Arc::new_cyclic(|chan| {
        let made = make(CloserOf(chan.clone()));
        closer = Some(made.clone());
        Chan::closed_by(made)
    });
    (closer.expect("made above"), Receiver { chan: Some(chan) })
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
