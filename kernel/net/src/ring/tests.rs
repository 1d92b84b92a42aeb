//! The ring against a device made by hand.

use super::fake::FakeDevice;
use super::*;
use base::rng::Rng;
use std::collections::{BTreeMap, VecDeque};

const SIZE: u16 = 8;

fn pair(event_idx: bool) -> (Queue, FakeDevice) {
    let area = Area::leaked(SIZE);
    (
        Queue::new(area, event_idx),
        FakeDevice::new(area, event_idx),
    )
}

fn read(phys: u64, len: u32) -> Buffer {
    Buffer {
        phys,
        len,
        device_writes: false,
    }
}

fn write(phys: u64, len: u32) -> Buffer {
    Buffer {
        phys,
        len,
        device_writes: true,
    }
}

#[test]
fn the_layout_is_the_specifications() {
    assert_eq!(Area::offsets(8), [0, 128, 152]);
    assert_eq!(Area::bytes(8), 152 + 6 + 64);
    assert_eq!(Area::offsets(256), [0, 4096, 4096 + 6 + 512 + 2]);
}

#[test]
fn a_chain_goes_there_and_back() {
    let (mut q, mut d) = pair(true);
    let head = q
        .add(&[read(100, 10), write(200, 20), write(300, 30)])
        .unwrap();
    assert!(d.take().is_none(), "not published");
    assert!(q.publish(), "the first one is told of");
    let chain = d.take().unwrap();
    assert_eq!(chain.head, head);
    assert_eq!(
        chain.parts,
        [(100, 10, false), (200, 20, true), (300, 30, true)]
    );
    assert_eq!((q.left(), q.out()), (SIZE - 3, 1));
    d.give(head.into(), 50);
    assert_eq!(q.pop(), Ok(None));
    d.publish();
    assert_eq!(q.pop(), Ok(Some(Used { head, len: 50 })));
    assert_eq!((q.left(), q.out()), (SIZE, 0));
    assert!(!q.publish(), "nothing new");
}

#[test]
fn full_and_free_again() {
    let (mut q, mut d) = pair(false);
    let heads: Vec<u16> = (0..4)
        .map(|i| q.add(&[read(i, 1), write(i, 1)]).unwrap())
        .collect();
    assert_eq!(q.add(&[read(9, 1)]), Err(Full));
    assert!(q.publish());
    assert_eq!(q.left(), 0);
    while let Some(chain) = d.take() {
        d.give(chain.head.into(), 1)
    }
    d.publish();
    let mut back: Vec<u16> = std::iter::from_fn(|| q.pop().unwrap())
        .map(|u| u.head)
        .collect();
    back.sort();
    let mut heads = heads;
    heads.sort();
    assert_eq!(back, heads);
    assert!(
        q.add(&[read(0, 1); SIZE as usize]).is_ok(),
        "all of them in one chain"
    );
}

/// Both sides rest whenever they have nothing to do and are told only when they asked: 300,000 chains of 1 to 3 buffers, batches
/// of any size, answers out of order, so that both indices wrap four times (Linux Kernel Library, pull request 148: it stalled at the first).
fn all_come_back(event_idx: bool, seed: u64) {
    let (mut q, mut d) = pair(event_idx);
    let mut rng = Rng::new(seed);
    let mut chance = |n: u64| rng.next_u64() % n;
    const TOTAL: u64 = 300_000;
    let (mut sent, mut back) = (0u64, 0u64);
    let mut out = BTreeMap::new();
    let mut inside = VecDeque::new();
    let (mut kicked, mut rung) = (true, true);
    let (mut device_rests, mut driver_rests) = (false, false);
    let (mut kicks, mut rings) = (0u64, 0u64);
    while back < TOTAL {
        // The driver, unless it rests and was not told.
        if !driver_rests || std::mem::take(&mut rung) {
            driver_rests = false;
            q.interrupts_off();
            while let Some(used) = q.pop().unwrap() {
                assert_eq!(
                    out.remove(&used.head),
                    Some(u64::from(used.len)),
                    "head {}",
                    used.head
                );
                back += 1;
            }
            for _ in 0..chance(6) {
                let parts = 1 + chance(3) as usize;
                if sent == TOTAL {
                    break;
                }
                let room = 1 + chance(1000) as u32;
                let chain = [read(sent, 7), read(sent, 7), write(sent, room)];
                let Ok(head) = q.add(&chain[3 - parts..]) else {
                    break;
                };
                out.insert(head, u64::from(room));
                sent += 1;
            }
            if q.publish() {
                kicked = true;
                kicks += 1
            }
            // With chains out, it may wait for one; without, it has some to send.
            if q.out() != 0 && chance(2) == 0 {
                driver_rests = !q.interrupts_on()
            }
        }
        if !device_rests || std::mem::take(&mut kicked) {
            device_rests = false;
            d.kicks_off();
            while let Some(chain) = d.take() {
                inside.push_back(chain)
            }
            for _ in 0..chance(5) {
                let Some(chain) = inside.pop_front() else {
                    break;
                };
                let room = chain.parts.last().unwrap().1;
                d.give(chain.head.into(), room);
                if chance(3) == 0 {
                    inside.rotate_left(inside.len().min(1))
                }
            }
            if d.publish() {
                rung = true;
                rings += 1
            }
            if inside.is_empty() {
                device_rests = !d.kicks_on()
            }
        }
        let stuck = driver_rests && !rung && device_rests && !kicked;
        assert!(!stuck, "both rest with {} out after {back}", q.out());
    }
    assert!(out.is_empty() && q.out() == 0);
    assert!(
        kicks < TOTAL && rings < TOTAL,
        "{kicks} kicks, {rings} interrupts"
    );
}

#[test]
fn all_come_back_with_event_index() {
    (1..4).for_each(|seed| all_come_back(true, seed))
}

#[test]
fn all_come_back_with_flags() {
    (1..4).for_each(|seed| all_come_back(false, seed))
}

/// A side that does not want to be told is not told, almost to a whole turn of the index (tamago-example 41 asked the other ring).
#[test]
fn suppression_is_by_ring_and_lasts() {
    for event_idx in [true, false] {
        let (mut q, mut d) = pair(event_idx);
        q.interrupts_off();
        d.kicks_off();
        for i in 0..65_500u64 {
            q.add(&[read(i, 1)]).unwrap();
            assert!(!q.publish(), "kicked at {i}");
            let chain = d.take().unwrap();
            d.give(chain.head.into(), 0);
            assert!(!d.publish(), "interrupt at {i}");
            q.pop().unwrap().unwrap();
        }
        assert!(!d.kicks_on());
        q.add(&[read(0, 1)]).unwrap();
        assert!(q.publish(), "asked to be told again");
    }
}

#[test]
fn what_a_device_must_not_do_breaks_the_ring() {
    // An index that runs ahead.
    let (mut q, mut d) = pair(true);
    let head = q.add(&[write(0, 64)]).unwrap();
    let _ = q.publish();
    d.claim(2);
    let how = Broken::Index { ready: 2, out: 1 };
    assert_eq!(q.pop(), Err(how));
    assert_eq!((q.pop(), q.broken()), (Err(how), Some(how)));
    assert_eq!(q.add(&[write(0, 64)]), Err(Full));
    // A chain that is not out: never was, no such descriptor, the middle of one, one that came back already.
    for wrong in [5, 1000, u32::MAX] {
        let (mut q, mut d) = pair(true);
        q.add(&[write(0, 64)]).unwrap();
        let _ = q.publish();
        d.give(wrong, 1);
        d.publish();
        assert_eq!(q.pop(), Err(Broken::Head(wrong)));
    }
    let (mut q, mut d) = pair(true);
    let first = q.add(&[write(0, 64), write(1, 64)]).unwrap();
    q.add(&[write(2, 64)]).unwrap();
    let _ = q.publish();
    d.give(first.into(), 1);
    d.give(first.into(), 1);
    d.publish();
    assert!(q.pop().is_ok());
    assert_eq!(q.pop(), Err(Broken::Head(first.into())));
    // A chain that was added and not published.
    let (mut q, mut d) = pair(true);
    q.add(&[write(0, 64)]).unwrap();
    let _ = q.publish();
    let hidden = q.add(&[write(1, 64)]).unwrap();
    d.give(hidden.into(), 1);
    d.publish();
    assert_eq!(q.pop(), Err(Broken::Head(hidden.into())));
    // More than there was room for; what the device only reads is no room.
    let (mut q, mut d) = pair(true);
    let only_read = q.add(&[read(0, 64)]).unwrap();
    let _ = q.publish();
    d.give(only_read.into(), 1);
    d.publish();
    let how = q.pop().unwrap_err();
    assert_eq!(
        how,
        Broken::Length {
            head: only_read,
            len: 1,
            room: 0
        }
    );
    assert_eq!(how.to_string(), "1 bytes in chain 0, which has room for 0");
    assert_eq!(head, 0);
}

/// A device that writes anything anywhere in its part of the ring: nothing panics, nothing is handed out twice.
#[test]
fn a_hostile_device_breaks_nothing_else() {
    let inputs: u64 =
        std::env::var("RINGO_FUZZ").map_or(1_000_000, |n| n.parse().expect("a number of inputs"));
    let mut rng = Rng::new(11);
    let mut kinds = [0u64; 4];
    let (mut q, mut d) = pair(true);
    let mut held = Vec::new();
    for _ in 0..inputs {
        if q.broken().is_some() {
            (q, d) = pair(rng.next_u64().is_multiple_of(2));
            held.clear()
        }
        for _ in 0..rng.next_u64() % 4 {
            if let Ok(head) = q.add(&[read(1, 1), write(2, 100)][(rng.next_u64() % 2) as usize..]) {
                assert!(!held.contains(&head), "descriptor {head} twice");
                held.push(head)
            }
        }
        if !rng.next_u64().is_multiple_of(4) {
            let _ = q.publish();
        }
        while d.take().is_some() {}
        let known = held
            .get(rng.next_u64() as usize % held.len().max(1))
            .copied();
        let head = match (rng.next_u64() % 32, known) {
            (0, _) | (_, None) => rng.next_u64() as u32,
            (1, _) => (rng.next_u64() % 16) as u32,
            (_, Some(head)) => head.into(),
        };
        let len = if rng.next_u64().is_multiple_of(32) {
            rng.next_u64() as u32
        } else {
            (rng.next_u64() % 100) as u32
        };
        d.give(head, len);
        d.publish();
        if rng.next_u64().is_multiple_of(64) {
            d.claim(rng.next_u64() as u16)
        }
        loop {
            match q.pop() {
                Ok(None) => break,
                Ok(Some(used)) => {
                    kinds[0] += 1;
                    assert!(used.len <= 100);
                    let at = held
                        .iter()
                        .position(|h| *h == used.head)
                        .expect("it was out");
                    held.swap_remove(at);
                }
                Err(Broken::Index { .. }) => break kinds[1] += 1,
                Err(Broken::Head(_)) => break kinds[2] += 1,
                Err(Broken::Length { .. }) => break kinds[3] += 1,
            }
        }
        assert!(q.broken().is_some() || usize::from(q.out()) == held.len());
    }
    assert!(kinds.iter().all(|n| *n > inputs / 1000), "{kinds:?}");
}

/// I-LATE: with the first chains back, those behind them are looked at, and not only the last.
#[test]
fn a_late_look_sees_all_that_is_out() {
    let (mut q, mut d) = pair(true);
    d.kicks_off();
    q.add(&[write(1, 10)]).unwrap();
    assert!(!q.publish());
    let chain = d.take().unwrap();
    d.give(chain.head.into(), 1);
    d.publish();
    assert!(q.pop().unwrap().is_some());
    // It comes to rest behind the first and has not seen the second, of which the driver has not seen that.
    q.add(&[write(2, 10)]).unwrap();
    assert!(!q.publish());
    let _ = d.kicks_on();
    q.add(&[write(3, 10)]).unwrap();
    assert!(q.publish(), "it waits for a kick since before the second")
}
