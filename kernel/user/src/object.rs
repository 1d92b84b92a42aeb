//! What handles point at.
//!
//! A clone is another reference to the same: what ends with the last one, such as the reading end of a pipe, is behind an `Arc` that is
//! dropped then.

use crate::wait::Wait;
use abi::{Ended, Error};
use alloc::sync::Arc;

/// Something that a handle points at.
#[derive(Clone)]
pub enum Object {
    /// Reads nothing, takes everything: standard input of a process that has none.
    Null,
    /// A process.
    Process(Arc<dyn Child>),
}

/// A process, as those see it who have a handle to it.
pub trait Child: Send + Sync {
    /// Waits until it has ended.
    ///
    /// # Errors
    /// Those of the wait.
    fn wait(&self, wait: Wait<'_>) -> Result<Ended, Error>;

    /// Ends it. One that has ended stays as it is.
    fn kill(&self);
}
