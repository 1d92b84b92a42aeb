//! Channels of messages between processes: what is sent as one piece is received as one piece.

use crate::{Error, Handle, Result, syscall};
use abi::Call;

/// Longest message in bytes.
pub const MAX_BYTES: usize = abi::MESSAGE_MAX_BYTES as usize;

/// The end that sends. When the last one is closed, the channel is.
#[derive(Debug)]
pub struct MessageSender(Handle);

/// The end that receives. When the last one is closed, sends fail.
#[derive(Debug)]
pub struct MessageReceiver(Handle);

/// A channel with room for `capacity` messages; 0: who sends waits for who receives.
///
/// # Errors
///
/// [`Error::BadArgument`]: the capacity is too large; [`Error::Limit`]: the process has as many handles as it may.
pub fn channel(capacity: usize) -> Result<(MessageSender, MessageReceiver)> {
    // SAFETY: the pair is the call's last argument, after the capacity.
    let [sender, receiver] = unsafe { Handle::pair(Call::Chan, [capacity as u64]) }?;
    Ok((MessageSender(sender), MessageReceiver(receiver)))
}

impl MessageSender {
    /// The end that the process was given as that handle.
    pub fn given(number: u32) -> MessageSender {
        MessageSender(Handle::given(number))
    }

    /// Sends a message of at most [`MAX_BYTES`]; waits for room.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`]: nobody can receive; [`Error::BadArgument`]: it is too long.
    pub fn send(&self, message: &[u8]) -> Result<()> {
        let (address, bytes) = (message.as_ptr() as u64, message.len() as u64);
        // SAFETY: the kernel reads the message, no more.
        unsafe { syscall::call(Call::Send, [self.0.number().into(), address, bytes]) }.map(|_| ())
    }
}

impl MessageReceiver {
    /// The end that the process was given as that handle.
    pub fn given(number: u32) -> MessageReceiver {
        MessageReceiver(Handle::given(number))
    }

    /// Receives a message into `to`; its length. `None`: closed and drained.
    ///
    /// # Errors
    ///
    /// [`Error::TooSmall`]: it did not fit, and is lost.
    pub fn recv(&self, to: &mut [u8]) -> Result<Option<usize>> {
        let (address, bytes) = (to.as_mut_ptr() as u64, to.len() as u64);
        // SAFETY: the kernel writes to `to`, no more.
        match unsafe { syscall::call(Call::Recv, [self.0.number().into(), address, bytes]) } {
            Ok(length) => Ok(Some(length as usize)),
            Err(Error::Closed) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl AsRef<Handle> for MessageSender {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}

impl AsRef<Handle> for MessageReceiver {
    fn as_ref(&self) -> &Handle {
        &self.0
    }
}
