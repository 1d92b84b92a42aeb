//! What handles point at.
//!
//! A clone is another reference to the same: what ends with the last one, such as the reading end of a pipe, is behind an `Arc` that is
//! dropped then, whichever process had it.

pub mod channel;
pub mod console;
pub mod file;
pub mod pipe;
pub mod shm;
pub mod socket;

use crate::wait::Wait;
use abi::{Ended, Error};
use alloc::sync::Arc;

/// Something that a handle points at.
#[derive(Clone)]
pub enum Object {
    /// Reads nothing, takes everything: standard input of a process that has none.
    Null,
    /// What is typed.
    Input(Arc<console::Input>),
    /// The console, or its error side.
    Output {
        /// The error side.
        errors: bool,
    },
    /// A file that is open.
    File(Arc<file::File>),
    /// The reading end of a pipe.
    PipeRead(Arc<pipe::ReadEnd>),
    /// The writing end of a pipe.
    PipeWrite(Arc<pipe::WriteEnd>),
    /// The sending end of a channel.
    Send(Arc<channel::SendEnd>),
    /// The receiving end of a channel.
    Receive(Arc<channel::ReceiveEnd>),
    /// Memory to share.
    Shm(Arc<shm::Shm>),
    /// Who accepts connections.
    Listener(Arc<socket::Listener>),
    /// A connection.
    Stream(Arc<socket::Stream>),
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
