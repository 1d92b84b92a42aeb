//! The driver against a card made by hand.

mod card;
mod pairs;

use super::transport::{ACKNOWLEDGE, DRIVER, DRIVER_OK, FAILED, FEATURES_OK};
use super::*;
use crate::ring::Broken;
use base::rng::Rng;
use card::*;

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
