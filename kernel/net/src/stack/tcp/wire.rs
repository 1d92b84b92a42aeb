//! What a connection's interface takes for its device: one packet in, packets out to the stack.

use super::segment::Sight;
use crate::stack::Net;
use crate::stack::ipv4::Sent;
use alloc::{collections::VecDeque, vec, vec::Vec};
use core::net::Ipv4Addr;
use smoltcp::phy::{Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::phy::{RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::IpProtocol;

/// Packets that a connection keeps while the card is full: the one that found it so, and answers to what came meanwhile. More are lost,
/// as on a wire.
const KEPT: usize = 4;

/// A connection's outgoing side, between two calls.
pub(super) struct Egress {
    pub remote: Ipv4Addr,
    pub mtu: usize,
    /// Packets that found the card full, in their order.
    pub kept: VecDeque<Vec<u8>>,
    /// Of what went out.
    pub sight: Sight,
    /// The card's queue that it goes by.
    queue: u16,
}

impl Egress {
    pub fn new(remote: Ipv4Addr, mtu: usize) -> Self {
        Egress {
            remote,
            mtu,
            sight: Sight::default(),
            kept: VecDeque::new(),
            queue: 0,
        }
    }

    /// I-ORDER: a connection's frames go by one queue while bytes of it may not have arrived, so that they do not overtake each other;
    /// else, and what acknowledges alone, by that of the CPU that sends. (What waits for a neighbour's address may be
    /// overtaken all the same when that comes: `arp.rs`.)
    pub fn queue_for(&mut self, near: u16, unanswered: bool) -> u16 {
        if !unanswered && self.kept.is_empty() {
            self.queue = near
        }
        self.queue
    }

    /// By which the last went.
    pub fn queue(&self) -> u16 {
        self.queue
    }
}

/// The device, for the time of a call.
pub(super) struct Wire<'a, 'n, U> {
    /// What has come.
    pub packet: Option<&'a [u8]>,
    pub egress: &'a mut Egress,
    /// None: what goes out is thrown away.
    pub net: Option<&'a mut Net<'n, U>>,
    /// Packets that went out.
    pub sent: usize,
}

pub(super) struct Rx<'a>(&'a [u8]);
pub(super) struct Tx<'t, 'n, U> {
    egress: &'t mut Egress,
    net: Option<&'t mut Net<'n, U>>,
    sent: &'t mut usize,
}

impl<'n, U> Device for Wire<'_, 'n, U> {
    type RxToken<'t>
        = Rx<'t>
    where
        Self: 't;
    type TxToken<'t>
        = Tx<'t, 'n, U>
    where
        Self: 't;

    fn receive(&mut self, at: Instant) -> Option<(Rx<'_>, Tx<'_, 'n, U>)> {
        let packet = self.packet.take()?;
        let _ = at;
        let tx = Tx {
            egress: self.egress,
            net: self.net.as_deref_mut(),
            sent: &mut self.sent,
        };
        Some((Rx(packet), tx))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_, 'n, U>> {
        self.egress.kept.is_empty().then_some(Tx {
            egress: self.egress,
            net: self.net.as_deref_mut(),
            sent: &mut self.sent,
        })
    }

    /// IPv4 over nothing; TCP's checksums are done outside.
    fn capabilities(&self) -> DeviceCapabilities {
        let mut caps = DeviceCapabilities::default();
        caps.medium = Medium::Ip;
        caps.max_transmission_unit = self.egress.mtu;
        caps.checksum = ChecksumCapabilities::ignored();
        caps.checksum.ipv4 = Checksum::Tx;
        caps
    }
}

impl RxToken for Rx<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl<U> TxToken for Tx<'_, '_, U> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, bytes: usize, f: F) -> R {
        *self.sent += 1;
        let Egress { sight, kept, .. } = self.egress;
        let mut write = Some(f);
        let mut wrote = None;
        let mut fill = |to: &mut [u8]| {
            if let Some(write) = write.take() {
                wrote = Some(write(to));
                sight.note(to)
            }
        };
        let mut full = false;
        if let Some(net) = self.net {
            let sent = if kept.is_empty() {
                net.send_ipv4(self.egress.remote, IpProtocol::Tcp, bytes, &mut fill)
            } else {
                Sent::Full
            };
            full = sent == Sent::Full
        }
        if let Some(r) = wrote {
            return r;
        }
        // Dropped by who counted it, or the card is full.
        let mut packet = vec![0; bytes];
        let Some(write) = write else {
            unreachable!("what was called has written")
        };
        let r = write(&mut packet);
        sight.note(&packet);
        if full && kept.len() < KEPT {
            kept.push_back(packet)
        }
        r
    }
}
