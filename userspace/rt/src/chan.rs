//! Channels, with Go's semantics in Rust's forms (Go: `runtime/chan.go`), between the threads of one process. Names and answers are
//! those of the kernel-side `csp::chan`.

mod core;
mod ends;
#[cfg(all(test, not(ringo_loom)))]
mod tests;

pub use self::ends::{IntoIter, Iter, Receiver, Sender};
pub use chan_error::{SendError, TryRecvError, TrySendError};

use self::core::Chan;
use alloc::sync::Arc;

/// A new channel with room for `cap` values; 0: each send hands its value to a receiver.
///
/// # Panics
///
/// If there is no memory for `cap` values.
pub fn chan<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    let chan = Arc::new(Chan::new(cap));
    (Sender::new(chan.clone()), Receiver::new(chan))
}
