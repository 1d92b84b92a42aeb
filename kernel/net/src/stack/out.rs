//! What a call of the stack brings about.

use crate::device::Checksum;
use alloc::sync::Arc;

/// What a socket can do that it perhaps could not.
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
    /// An Ethernet frame of `bytes` for the card. True: it is taken, and `fill` was called once and wrote each byte, whatever was
    /// there, and with `checksum` the card finishes TCP's or UDP's sum; or there is no card, and frame and `fill` are lost. False: the
    /// card is full, and `fill` was not called; [`Stack::room`](super::Stack::room) is to be called when it is not. What was taken may
    /// leave as late as the caller of the stack likes. May be called under a connection's lock.
    ///
    /// `queue`: the queue of the card's that it goes by, where frames stay in their order and whose room counts.
    fn frame(
        &mut self,
        queue: u16,
        bytes: usize,
        checksum: Option<Checksum>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool;

    /// The card's queue that is the caller's CPU's.
    fn near(&self) -> u16;

    /// Somebody who was told `WouldBlock` may try again, or, `Closed`, whoever has the socket. No lock of the stack's is held (I-ONE);
    /// its caller may hold one of his own, as the netpoller holds the card's receiver's: what is done here takes none below that.
    fn ready(&mut self, socket: &Arc<U>, mode: Ready);
}
