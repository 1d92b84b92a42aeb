//! The driver against a card made by hand.

mod pairs;

use super::transport::{ACKNOWLEDGE, DRIVER, DRIVER_OK, FAILED, FEATURES_OK};
use super::*;
use crate::ring::fake::{Chain, FakeDevice};
use crate::ring::{Area, Broken};
use base::rng::Rng;
use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
const ALL: u64 = 0xffff_ffff_ffff;
const VERSION_1: u64 = 1 << 32;

/// The card: what its driver did to it, and its side of the rings.
struct Card {
    features: u64,
    taken: u64,
    refuses: bool,
    statuses: Vec<u8>,
    sizes: Vec<u16>,
    /// Pairs that it has; with several, the queue behind them is the one for orders.
    pairs: u16,
    /// Orders, and whether it obeys them.
    orders: Vec<Vec<u8>>,
    obeys: bool,
    interrupts: u16,
    has_bells: bool,
    has_config: bool,
    rings: Vec<Option<FakeDevice>>,
    kicks: Vec<u64>,
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
struct Fake(Rc<RefCell<Card>>);

#[derive(Clone)]
struct FakeBell(Fake, u16);

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

struct Leaked;

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

struct NoMemory;
// SAFETY: returns nothing.
unsafe impl Memory for NoMemory {
    fn row(_: usize) -> Option<Row> {
        None
    }
}

fn card(features: u64) -> Fake {
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

fn running(features: u64) -> (Fake, Nic<Fake>) {
    let fake = card(features);
    let Ok(nic) = start::<_, Leaked>(fake.clone()) else {
        panic!("it does not start")
    };
    (fake, nic)
}

/// The bytes of a part of a chain.
fn part<'a>(chain: &Chain, i: usize) -> &'a mut [u8] {
    let (phys, len, _) = chain.parts[i];
    // SAFETY: addresses are the host's; the chain is the device's.
    unsafe { std::slice::from_raw_parts_mut(phys as *mut u8, len as usize) }
}

/// Puts a frame into the next buffer of the first receiving ring. False: it has run dry.
fn put(fake: &Fake, flags: u8, frame: &[u8]) -> bool {
    put_into(fake, 0, flags, frame)
}

fn put_into(fake: &Fake, queue: usize, flags: u8, frame: &[u8]) -> bool {
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
fn sent(fake: &Fake) -> Vec<(Vec<u8>, Vec<u8>)> {
    sent_by(fake, 1)
}

fn sent_by(fake: &Fake, queue: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
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

#[test]
fn starts_in_the_order_of_the_specification() {
    let (fake, nic) = running(ALL);
    let card = fake.0.borrow();
    let steps = [
        0,
        ACKNOWLEDGE,
        ACKNOWLEDGE | DRIVER,
        ACKNOWLEDGE | DRIVER | FEATURES_OK,
        ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK,
    ];
    assert_eq!(card.statuses, steps);
    assert_eq!(
        card.taken,
        VERSION_1 | 1 << 29 | 1 << 5 | 3,
        "only what the driver knows"
    );
    assert_eq!(nic.mac, MAC);
    assert!(nic.offers.sends_checksums && nic.offers.checks_checksums && nic.offers.event_idx);
    assert_eq!(
        card.kicks,
        [1, 0],
        "the buffers to receive into are announced"
    );
    drop(card);
    let (fake, nic) = running(VERSION_1);
    assert_eq!(fake.0.borrow().taken, VERSION_1);
    assert_eq!(nic.mac[0] & 3, 2, "of its own making, and not for groups");
    assert!(!nic.offers.sends_checksums && !nic.offers.event_idx);
}

#[test]
fn gives_up_a_card_that_it_cannot_drive() {
    type Change = fn(&mut Card);
    let cases: [(Change, &str); 7] = [
        (|c| c.features = ALL & !VERSION_1, "no virtio 1 device"),
        (|c| c.refuses = true, "does not take them"),
        (|c| c.sizes = vec![0, 4], "lacks a queue"),
        (|c| c.sizes = vec![8, 3], "lacks a queue"),
        (|c| c.interrupts = 1, "too few interrupts"),
        (|c| c.has_bells = false, "takes no kicks"),
        (|c| c.has_config = false, "has no address"),
    ];
    for (change, why) in cases {
        let fake = card(ALL);
        change(&mut fake.0.borrow_mut());
        let error = start::<_, Leaked>(fake.clone()).err().expect(why);
        assert!(error.to_string().contains(why), "{error}");
        let card = fake.0.borrow();
        let before = card.statuses[card.statuses.len() - 2];
        let before = if card.refuses {
            before & !FEATURES_OK
        } else {
            before
        };
        assert_eq!(
            card.statuses.last(),
            Some(&(before | FAILED)),
            "bits are only added"
        );
    }
    let error = start::<_, NoMemory>(card(ALL)).err();
    assert_eq!(error, Some(Error::NoMemory));
}

/// Frames of any length, more at once than there is room for: what finds no buffer is lost, what finds one arrives, and after
/// the flood it goes on. IncludeOS 1968: it did not.
#[test]
fn receives_through_a_flood() {
    for features in [ALL, VERSION_1] {
        let (fake, mut nic) = running(features);
        let mut rng = Rng::new(5);
        let (mut arrived, mut lost) = (0, 0);
        for round in 0..3000 {
            let mut there = Vec::new();
            for _ in 0..rng.below(14) {
                let frame: Vec<u8> = (0..14 + rng.below(1501))
                    .map(|_| rng.next_u64() as u8)
                    .collect();
                if put(&fake, 0, &frame) {
                    there.push(frame)
                } else {
                    lost += 1
                }
            }
            let mut come = Vec::new();
            while nic
                .receiver
                .receive(3, |f| come.push(f.bytes.to_vec()))
                .unwrap()
                != 0
            {}
            assert!(
                come == there,
                "round {round}: {} of {} frames",
                come.len(),
                there.len()
            );
            arrived += come.len();
        }
        assert!(
            arrived > 10_000 && lost > 1000,
            "{arrived} arrived, {lost} lost"
        );
        assert_eq!(nic.receiver.runts(), 0);
    }
}

#[test]
fn knows_frames_that_need_no_look_and_what_is_none() {
    let (fake, mut nic) = running(ALL);
    for flags in [0, 1, 2] {
        assert!(put(&fake, flags, &[flags; 60]))
    }
    assert!(put(&fake, 0, &[9; 13]), "too short for Ethernet");
    let mut come = Vec::new();
    let n = nic
        .receiver
        .receive(100, |f| come.push((f.bytes[0], f.checked)));
    assert_eq!(n, Ok(4));
    assert_eq!(come, [(0, false), (1, true), (2, true)]);
    assert_eq!(nic.receiver.runts(), 1);
}

#[test]
fn sends_until_there_is_no_room_and_again() {
    let (fake, mut nic) = running(ALL);
    let tx = &mut nic.transmitter;
    let checksum = Checksum {
        start: 34,
        offset: 16,
    };
    for i in 0..4 {
        let sum = (i == 2).then_some(checksum);
        assert_eq!(tx.send(60 + i, sum, |b| b.fill(i as u8)), Ok(true));
    }
    assert_eq!(fake.0.borrow().kicks[1], 0, "nothing leaves before flush");
    assert_eq!(tx.send(60, None, |_| panic!("no room")), Ok(false));
    assert_eq!(
        fake.0.borrow().kicks[1],
        1,
        "who finds no room waits for nobody's flush"
    );
    tx.flush();
    assert_eq!(fake.0.borrow().kicks[1], 1, "one kick for all");
    assert_eq!(tx.under_way(), 4);
    let all = sent(&fake);
    for (i, (header, frame)) in all.iter().enumerate() {
        assert_eq!(*frame, vec![i as u8; 60 + i]);
        let wanted: &[u8] = if i == 2 {
            &[1, 0, 0, 0, 0, 0, 34, 0, 16, 0, 0, 0]
        } else {
            &[0; 12]
        };
        assert_eq!(header, wanted);
    }
    assert_eq!(
        tx.send(FRAME_BYTES, None, |b| b.fill(7)),
        Ok(true),
        "what has gone is room"
    );
    tx.flush();
    assert_eq!(sent(&fake)[0].1.len(), FRAME_BYTES);
}

#[test]
fn who_waits_for_room_is_told() {
    let (fake, mut nic) = running(ALL);
    let tx = &mut nic.transmitter;
    for _ in 0..4 {
        assert_eq!(tx.send(60, None, |_| {}), Ok(true))
    }
    tx.flush();
    assert!(!tx.listen(), "none has gone");
    sent(&fake);
    assert!(tx.listen(), "gone between the last look and the listening");
}

#[test]
fn a_card_that_breaks_the_rules_is_done_with() {
    let (fake, mut nic) = running(ALL);
    fake.0
        .borrow_mut()
        .rings
        .iter_mut()
        .flatten()
        .for_each(|ring| {
            ring.give(77, 0);
            ring.publish();
        });
    let wanted = Err(Error::Broken(Broken::Index { ready: 1, out: 0 }));
    assert_eq!(nic.transmitter.reclaim(), wanted);
    assert_eq!(nic.transmitter.send(60, None, |_| {}).map(drop), wanted);
    let wanted = Err(Error::Broken(Broken::Head(77)));
    for _ in 0..2 {
        let came = nic.receiver.receive(9, |_| panic!("a frame"));
        assert_eq!(came.map(drop), wanted);
    }
}

/// I-LATE: a device that asked for a kick in the very moment at which the driver looked is kicked before the driver rests; once.
#[test]
fn a_wish_that_was_overlooked_is_seen_before_rest() {
    for event_idx in [ALL, ALL & !(1 << 29)] {
        let (fake, mut nic) = running(event_idx);
        let kicks_off = |i: usize| fake.0.borrow_mut().rings[i].as_mut().unwrap().kicks_off();
        // As if it had looked before the index reached it.
        let rests = |i: usize| {
            fake.0.borrow_mut().rings[i].as_mut().unwrap().kicks_on();
        };
        let kicks = |i: usize| fake.0.borrow().kicks[i];

        kicks_off(1);
        assert!(nic.transmitter.send(60, None, |b| b.fill(1)).unwrap());
        let before = kicks(1);
        nic.transmitter.flush();
        assert_eq!(kicks(1), before, "it wants none");
        rests(1);
        nic.transmitter.settle().expect("a bell to ring").ring();
        assert!(nic.transmitter.settle().is_none());
        assert_eq!(kicks(1), before + 1);

        while put(&fake, 0, &[7; 60]) {}
        kicks_off(0);
        let before = kicks(0);
        assert_eq!(nic.receiver.receive(100, |_| ()).unwrap(), 8);
        assert_eq!(kicks(0), before, "it wants none");
        rests(0);
        let _ = nic.receiver.listen();
        let _ = nic.receiver.listen();
        assert_eq!(kicks(0), before + 1)
    }
}
