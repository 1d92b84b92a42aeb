//! What a call of the stack brings about.

use crate::device::Checksum;
use alloc::sync::Arc;

/// What a socket can do that it could not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// There is something to receive or to accept, or the end of it.
    Readable,
    /// There is room to send, or a connection stands.
    Writable,
    /// An error or the end: both sides look.
    Closed,
}

/// Where the stack's effects go. In the kernel the card's transmitter and the netpoller; in tests a recorder.
pub trait Out<U> {
    /// An Ethernet frame of `bytes` for the card, which `fill` writes (each byte, whatever was there); with `checksum` the card
    /// finishes TCP's or UDP's sum. False: the card is full and `fill` was not called; [`Stack::room`](super::Stack::room) is
    /// to be called when it is not. May be called under a connection's lock.
    fn frame(
        &mut self,
        bytes: usize,
        checksum: Option<Checksum>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool;

    /// Somebody who was told `WouldBlock` may try again. No lock is held.
    fn ready(&mut self, socket: &Arc<U>, mode: Ready);
}
