//! Several pairs of queues.

use super::*;

const MQ: u64 = 1 << 22;
const CTRL_VQ: u64 = 1 << 17;

/// A card with so many pairs, and interrupts for them.
fn several(features: u64, pairs: u16) -> Fake {
    let fake = card(features);
    {
        let mut card = fake.0.borrow_mut();
        card.sizes = [8, 4].repeat(pairs.into());
        card.sizes.push(4);
        card.rings = card.sizes.iter().map(|_| None).collect();
        card.kicks = vec![0; card.sizes.len()];
        card.interrupts = 2 * pairs + 2;
        card.pairs = pairs
    }
    fake
}

/// Pairs that the driver uses, if it would use `most`; the features it took; the orders it gave.
fn used(fake: &Fake, most: u16) -> (u16, u64, Vec<Vec<u8>>) {
    let Ok(nic) = start_with::<_, Leaked>(fake.clone(), most) else {
        panic!("it does not start")
    };
    assert_eq!(nic.more.len(), usize::from(nic.offers.pairs) - 1);
    let card = fake.0.borrow();
    (nic.offers.pairs, card.taken, card.orders.clone())
}

#[test]
fn uses_as_many_pairs_as_both_sides_have() {
    for (has, most, uses) in [(4, 4, 4), (8, 3, 3), (2, 64, 2), (300, 2, 2)] {
        let (pairs, taken, orders) = used(&several(ALL, has), most);
        assert_eq!(pairs, uses, "{has} there, {most} at most");
        assert_eq!(taken & (MQ | CTRL_VQ), MQ | CTRL_VQ);
        assert_eq!(
            orders,
            [[4, 0, uses as u8, 0]],
            "one order, after the start"
        );
    }
}

/// A single-queue back end is never asked for several, nor is a card that lacks what they need.
#[test]
fn one_pair_where_there_is_one() {
    let one = |what: &str, fake: Fake, most: u16| {
        let (pairs, taken, orders) = used(&fake, most);
        assert_eq!((pairs, orders.len()), (1, 0), "{what}");
        assert_eq!(taken & (MQ | CTRL_VQ), 0, "{what}")
    };
    one("the card has one", card(ALL), 4);
    one("none of several is wanted", several(ALL, 4), 1);
    for nonsense in [0, 0x8000, 40_000, u16::MAX] {
        let fake = several(ALL, 4);
        fake.0.borrow_mut().pairs = nonsense;
        one("a number that no card may have", fake, 4)
    }
    one("no orders", several(ALL & !CTRL_VQ, 4), 4);
    one("not offered", several(ALL & !MQ, 4), 4);
    let few = several(ALL, 4);
    few.0.borrow_mut().interrupts = 3;
    one("no interrupts for two pairs", few, 4);
}

/// As many pairs as there are interrupts for.
#[test]
fn pairs_have_interrupts() {
    let fake = several(ALL, 8);
    fake.0.borrow_mut().interrupts = 7;
    assert_eq!(used(&fake, 8).0, 3)
}

#[test]
fn a_card_that_does_not_obey_has_one_pair() {
    for change in [(|card| card.obeys = false) as fn(&mut Card), |card| {
        *card.sizes.last_mut().unwrap() = 1
    }] {
        let fake = several(ALL, 4);
        change(&mut fake.0.borrow_mut());
        let (pairs, taken, orders) = used(&fake, 4);
        assert_eq!(pairs, 1);
        assert!(orders.len() <= 1);
        // It was begun again, so it does not obey later.
        let resets = fake.0.borrow().statuses.iter().filter(|&&s| s == 0).count();
        assert_eq!((resets, taken & (MQ | CTRL_VQ)), (2, 0))
    }
}

/// Each pair is a card of its own: frames come and go by each, and buffers of each are announced.
#[test]
fn each_pair_works() {
    let fake = several(ALL, 3);
    let Ok(mut nic) = start_with::<_, Leaked>(fake.clone(), 3) else {
        panic!("it does not start")
    };
    assert_eq!(fake.0.borrow().kicks, [1, 0, 1, 0, 1, 0, 1]);
    let first = [(&mut nic.receiver, &mut nic.transmitter)];
    let more = nic.more.iter_mut();
    let more = more.map(|pair| (&mut pair.receiver, &mut pair.transmitter));
    for (i, (receiver, transmitter)) in first.into_iter().chain(more).enumerate() {
        let frame = [i as u8 + 1; 60];
        assert!(put_into(&fake, 2 * i, 0, &frame));
        let mut come = Vec::new();
        let n = receiver.receive(9, |f| come.push(f.bytes.to_vec()));
        assert_eq!((n, come), (Ok(1), vec![frame.to_vec()]));
        assert_eq!(transmitter.send(60, None, |to| to.fill(7)), Ok(true));
        transmitter.flush();
        assert_eq!(sent_by(&fake, 2 * i + 1).len(), 1, "pair {i}")
    }
}
