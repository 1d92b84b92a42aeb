//! A card made by hand: what its driver did to it, and its side of the rings.

use crate::device::transport::FEATURES_OK;
use crate::device::*;
use crate::ring::Area;
use crate::ring::fake::{Chain, FakeDevice};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

pub(super) const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
pub(super) const ALL: u64 = 0xffff_ffff_ffff;
pub(super) const VERSION_1: u64 = 1 << 32;

/// The card: what its driver did to it, and its side of the rings.
pub(super) struct Card {
    pub(super) features: u64,
    pub(super) taken: u64,
    pub(super) refuses: bool,
    pub(super) statuses: Vec<u8>,
    pub(super) sizes: Vec<u16>,
    /// Pairs that it has; with several, the queue behind them is the one for orders.
    pub(super) pairs: u16,
    /// Orders, and whether it obeys them.
    pub(super) orders: Vec<Vec<u8>>,
    pub(super) obeys: bool,
    pub(super) interrupts: u16,
    pub(super) has_bells: bool,
    pub(super) has_config: bool,
    pub(super) rings: Vec<Option<FakeDevice>>,
    pub(super) kicks: Vec<u64>,
}

impl Card {
    /// Looks into the queue for orders.
    fn obey(&mut self) {
        let ring = self.rings[2 * usize::from(self.pairs)].as_mut().unwrap();
        while let Some(chain) = ring.take() {
            self.orders.push(part(&chain, 0).to_vec());
            part(&chain, 1)[0] = u8::from(!self.obeys);
            ring.give(chain.head.into(), 1)
        }
        ring.publish();
    }
}

#[derive(Clone)]
pub(super) struct Fake(pub(super) Rc<RefCell<Card>>);

#[derive(Clone)]
pub(super) struct FakeBell(Fake, u16);

impl Bell for FakeBell {
    fn ring(&self) {
        let mut card = self.0.0.borrow_mut();
        assert_eq!(card.statuses.last(), Some(&15), "a kick before DRIVER_OK");
        card.kicks[usize::from(self.1)] += 1;
        if card.pairs > 1 && usize::from(self.1) == 2 * usize::from(card.pairs) {
            card.obey()
        }
    }
}

impl Transport for Fake {
    type Bell = FakeBell;
    fn status(&self) -> u8 {
        let card = self.0.borrow();
        let status = *card.statuses.last().unwrap_or(&0);
        if card.refuses {
            status & !FEATURES_OK
        } else {
            status
        }
    }
    fn set_status(&mut self, status: u8) {
        self.0.borrow_mut().statuses.push(status)
    }
    fn device_features(&mut self) -> u64 {
        self.0.borrow().features
    }
    fn set_driver_features(&mut self, features: u64) {
        self.0.borrow_mut().taken = features
    }
    fn queue_most(&mut self, queue: u16) -> u16 {
        self.0.borrow().sizes[usize::from(queue)]
    }
    fn interrupts(&self) -> u16 {
        self.0.borrow().interrupts
    }
    unsafe fn start_queue(&mut self, queue: u16, setup: &QueueSetup) -> bool {
        let mut card = self.0.borrow_mut();
        let offsets = Area::offsets(setup.size);
        let parts = offsets.map(|o| setup.parts[0] + o as u64);
        assert_eq!(setup.parts, parts, "the parts of a ring lie in a row");
        // SAFETY: the driver's own memory, which is never freed; addresses are the host's.
        let area = unsafe { Area::at(setup.parts[0] as *mut u8, setup.size) };
        let event_idx = card.taken & 1 << 29 != 0;
        card.rings[usize::from(queue)] = Some(FakeDevice::new(area, event_idx));
        setup.entry < card.interrupts || setup.entry == 0xffff
    }
    fn bell(&mut self, queue: u16) -> Option<FakeBell> {
        let there = self.0.borrow().has_bells;
        there.then(|| FakeBell(self.clone(), queue))
    }
    fn config(&self, offset: usize, to: &mut [u8]) -> bool {
        let card = self.0.borrow();
        if card.has_config {
            // Its address, its state, how many pairs there are.
            let bytes = [&MAC[..], &[1, 0], &card.pairs.to_le_bytes()].concat();
            to.copy_from_slice(&bytes[offset..][..to.len()])
        }
        card.has_config
    }
}

pub(super) struct Leaked;

// SAFETY: aligned, zeroed, leaked.
unsafe impl Memory for Leaked {
    fn row(pages: usize) -> Option<Row> {
        let layout = std::alloc::Layout::from_size_align(4096 * pages, 4096).unwrap();
        // SAFETY: not empty.
        let at = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Row {
            phys: at.as_ptr() as u64,
            at,
        })
    }
}

pub(super) struct NoMemory;
// SAFETY: returns nothing.
unsafe impl Memory for NoMemory {
    fn row(_: usize) -> Option<Row> {
        None
    }
}

pub(super) fn card(features: u64) -> Fake {
    Fake(Rc::new(RefCell::new(Card {
        features,
        taken: 0,
        refuses: false,
        statuses: Vec::new(),
        sizes: vec![8, 4],
        pairs: 1,
        orders: Vec::new(),
        obeys: true,
        interrupts: 2,
        has_bells: true,
        has_config: true,
        rings: vec![None, None],
        kicks: vec![0; 2],
    })))
}

pub(super) fn running(features: u64) -> (Fake, Nic<Fake>) {
    let fake = card(features);
    let Ok(nic) = start::<_, Leaked>(fake.clone()) else {
        panic!("it does not start")
    };
    (fake, nic)
}

/// The bytes of a part of a chain.
pub(super) fn part<'a>(chain: &Chain, i: usize) -> &'a mut [u8] {
    let (phys, len, _) = chain.parts[i];
    // SAFETY: addresses are the host's; the chain is the device's.
    unsafe { std::slice::from_raw_parts_mut(phys as *mut u8, len as usize) }
}

/// Puts a frame into the next buffer of the first receiving ring. False: it has run dry.
pub(super) fn put(fake: &Fake, flags: u8, frame: &[u8]) -> bool {
    put_into(fake, 0, flags, frame)
}

pub(super) fn put_into(fake: &Fake, queue: usize, flags: u8, frame: &[u8]) -> bool {
    let mut card = fake.0.borrow_mut();
    let ring = card.rings[queue].as_mut().unwrap();
    let Some(chain) = ring.take() else {
        return false;
    };
    let to = part(&chain, 0);
    to[..12].fill(0);
    to[0] = flags;
    to[12..12 + frame.len()].copy_from_slice(frame);
    ring.give(chain.head.into(), 12 + frame.len() as u32);
    ring.publish();
    true
}

/// What the driver has sent by the first pair: header and frame.
pub(super) fn sent(fake: &Fake) -> Vec<(Vec<u8>, Vec<u8>)> {
    sent_by(fake, 1)
}

pub(super) fn sent_by(fake: &Fake, queue: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut card = fake.0.borrow_mut();
    let ring = card.rings[queue].as_mut().unwrap();
    let mut all = Vec::new();
    while let Some(chain) = ring.take() {
        let bytes = part(&chain, 0);
        all.push((bytes[..12].to_vec(), bytes[12..].to_vec()));
        ring.give(chain.head.into(), 0)
    }
    ring.publish();
    all
}
