//! Ethernet: frames that come, frames that go.

use super::{Counter, Net};
use crate::device::{Checksum, FRAME_LEAST};
use smoltcp::wire::{EthernetAddress, EthernetFrame, EthernetProtocol};

/// Bytes of its header.
pub(crate) const HEADER: usize = FRAME_LEAST;

/// An address of a card.
pub(crate) type Mac = [u8; 6];

/// All of them.
pub(crate) const EVERYBODY: Mac = [0xff; 6];

impl<U> Net<'_, U> {
    pub(super) fn frame_came(&mut self, bytes: &[u8], checked: bool) {
        let stats = &self.stack.stats;
        stats.count(Counter::FramesIn);
        let Ok(frame) = EthernetFrame::new_checked(bytes) else {
            return stats.count(Counter::FrameShort);
        };
        let to = frame.dst_addr();
        if to.0 != self.stack.config.mac && !to.is_broadcast() && !to.is_multicast() {
            return stats.count(Counter::FrameForOther);
        }
        match frame.ethertype() {
            EthernetProtocol::Arp => self.arp_came(frame.payload()),
            EthernetProtocol::Ipv4 => self.ipv4_came(frame.payload(), checked, false),
            _ => stats.count(Counter::FrameType),
        }
    }

    /// A frame to `to` with a payload of `bytes`, which `fill` writes. False: the card is full. `checksum`: within the payload.
    pub(super) fn send_frame(
        &mut self,
        to: Mac,
        kind: EthernetProtocol,
        bytes: usize,
        checksum: Option<Checksum>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        let from = self.stack.config.mac;
        let checksum = checksum.map(|c| Checksum {
            start: c.start + HEADER as u16,
            ..c
        });
        let mut whole = |to_fill: &mut [u8]| {
            let mut frame = EthernetFrame::new_unchecked(&mut *to_fill);
            frame.set_src_addr(EthernetAddress(from));
            frame.set_dst_addr(EthernetAddress(to));
            frame.set_ethertype(kind);
            fill(&mut to_fill[HEADER..])
        };
        let bytes = HEADER + bytes;
        let gone = self.out.frame(self.queue, bytes, checksum, &mut whole);
        if gone {
            self.stack.stats.count(Counter::FramesOut)
        }
        gone
    }
}
