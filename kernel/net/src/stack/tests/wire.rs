//! The wire: what one stack sends, another is given.

use crate::device::Checksum;
use crate::stack::{Address, Config, Out, Ready, Stack};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a socket was told.
#[derive(Default)]
pub(crate) struct Told {
    pub readable: AtomicU32,
    pub writable: AtomicU32,
    pub closed: AtomicU32,
}

/// What calls brought about.
pub(crate) struct Card {
    /// Frames that the card has taken.
    pub sent: VecDeque<Vec<u8>>,
    /// Frames that it takes before it is full.
    pub room: usize,
    /// Frames that it was offered.
    pub tried: usize,
    /// The queue of the CPU that calls, and those by which frames went or were to go.
    pub near: u16,
    pub by: Vec<u16>,
    /// Does it finish checksums?
    pub offload: bool,
}

impl Card {
    pub fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            room: usize::MAX,
            tried: 0,
            near: 0,
            by: Vec::new(),
            offload: false,
        }
    }
}

impl Out<Told> for Card {
    fn frame(
        &mut self,
        queue: u16,
        bytes: usize,
        checksum: Option<Checksum>,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> bool {
        self.by.push(queue);
        assert!((crate::device::FRAME_LEAST..=crate::device::FRAME_BYTES).contains(&bytes));
        self.tried += 1;
        if self.sent.len() >= self.room {
            return false;
        }
        let mut frame = vec![0xa5; bytes];
        fill(&mut frame);
        assert!(checksum.is_none() || self.offload);
        if let Some(c) = checksum {
            let (start, at) = (usize::from(c.start), usize::from(c.start + c.offset));
            let sum = !smoltcp::wire::checksum::data(&frame[start..]);
            frame[at..at + 2].copy_from_slice(&sum.to_be_bytes())
        }
        self.sent.push_back(frame);
        true
    }

    fn near(&self) -> u16 {
        self.near
    }

    fn ready(&mut self, socket: &Arc<Told>, mode: Ready) {
        let told = match mode {
            Ready::Readable => &socket.readable,
            Ready::Writable => &socket.writable,
            Ready::Closed => &socket.closed,
        };
        told.fetch_add(1, Relaxed);
    }
}

/// A computer: a stack and its card.
pub(crate) struct Host {
    pub stack: Stack<Told>,
    pub card: Card,
}

pub(crate) const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

impl Host {
    pub fn new(ip: Ipv4Addr) -> Self {
        Self::with(ip, |_| ())
    }

    pub fn with(ip: Ipv4Addr, change: impl FnOnce(&mut Config)) -> Self {
        let mac = [2, 0, 0, 0, 0, ip.octets()[3]];
        let mut config = Config::new(mac, u64::from(ip.to_bits()));
        change(&mut config);
        let card = Card {
            offload: config.offload,
            ..Card::new()
        };
        let stack = Stack::new(config);
        stack.set_address(Some(Address {
            ip,
            prefix: 24,
            gateway: Some(Ipv4Addr::new(10, 0, 0, 254)),
        }));
        Self { stack, card }
    }

    /// A frame comes.
    pub fn input(&mut self, frame: &[u8], now_ns: u64) {
        self.stack.input(frame, false, now_ns, &mut self.card)
    }
}

/// Carries frames between two until nothing is under way. How many.
pub(crate) fn settle(a: &mut Host, b: &mut Host, now_ns: u64) -> usize {
    let mut n = 0;
    loop {
        let (to_b, to_a) = (a.card.sent.pop_front(), b.card.sent.pop_front());
        if to_a.is_none() && to_b.is_none() {
            return n;
        }
        for (to, frame) in [(&mut *b, to_b), (&mut *a, to_a)] {
            if let Some(frame) = frame {
                n += 1;
                to.input(&frame, now_ns)
            }
        }
    }
}
