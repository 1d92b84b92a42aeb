//! From a device on the bus to one that runs (virtio 1.2, 3.1.1).

use super::control::Control;
use super::pool::Pool;
use super::transport::{ACKNOWLEDGE, DRIVER, DRIVER_OK, FAILED, FEATURES_OK};
use super::{Bell, Error, Memory, QueueSetup, Receiver, Transmitter, Transport, dma};
use crate::ring::Queue;
use alloc::vec::Vec;
use base::Rng;
use core::fmt;

/// Feature bits (virtio 1.2, 5.1.3 and 6).
const CSUM: u64 = 1 << 0;
const GUEST_CSUM: u64 = 1 << 1;
const MAC: u64 = 1 << 5;
const CTRL_VQ: u64 = 1 << 17;
const MQ: u64 = 1 << 22;
const EVENT_IDX: u64 = 1 << 29;
const VERSION_1: u64 = 1 << 32;
/// Those that we can do without.
const WELCOME: u64 = CSUM | GUEST_CSUM | EVENT_IDX;

/// Where the configuration says how many pairs there may be, and how many a device may have (5.1.4).
const PAIRS_AT: usize = 8;
const PAIRS: core::ops::RangeInclusive<u16> = 1..=0x7fff;
/// Descriptors of a queue at most: more hide a driver that is too slow.
const QUEUE_MOST: u16 = 256;
/// Looks at a device that resets.
const RESET_LOOKS: u32 = 1_000_000;

/// What the device does for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// It finishes checksums of what we send.
    pub sends_checksums: bool,
    /// It tells of what it receives that the checksum is right.
    pub checks_checksums: bool,
    /// It takes part in the event index: few kicks, few interrupts.
    pub event_idx: bool,
    /// Pairs of queues that it has and that are used.
    pub pairs: u16,
}

/// Two queues.
pub struct Pair<B: Bell> {
    /// Frames that come.
    pub receiver: Receiver<B>,
    /// Frames that go.
    pub transmitter: Transmitter<B>,
}

/// A device that runs.
pub struct Nic<T: Transport> {
    /// Its address.
    pub mac: [u8; 6],
    /// What it does for us.
    pub offers: Offers,
    /// Frames that come.
    pub receiver: Receiver<T::Bell>,
    /// Frames that go.
    pub transmitter: Transmitter<T::Bell>,
    /// Those of the other pairs.
    pub more: Vec<Pair<T::Bell>>,
    /// Its registers.
    pub transport: T,
}

/// Starts the device with one pair of queues. Interrupts: entry 0 for what came, entry 1 for what has gone; both are off until somebody
/// listens.
///
/// # Errors
/// It is not one that this driver knows, or there is no memory; it is then given up.
pub fn start<T: Transport, M: Memory>(transport: T) -> Result<Nic<T>, Error> {
    start_with::<T, M>(transport, 1)
}

/// As [`start`], with several pairs, if the device has them and an interrupt for each queue; `pairs` at most. Pair `i` has the interrupts
/// `2 i` and `2 i + 1`, and the device puts what comes for a flow into the pair by which the flow's last frame went.
///
/// # Errors
/// As [`start`].
///
/// # Panics
/// If `pairs` is 0.
pub fn start_with<T: Transport, M: Memory>(mut transport: T, pairs: u16) -> Result<Nic<T>, Error> {
    match begin::<T, M>(&mut transport, pairs) {
        Ok((mac, offers, first, more)) => Ok(Nic {
            mac,
            offers,
            receiver: first.receiver,
            transmitter: first.transmitter,
            more,
            transport,
        }),
        Err(error) => {
            let status = transport.status();
            transport.set_status(status | FAILED); // bits are only added (2.1.1)
            Err(error)
        }
    }
}

type Parts<B> = ([u8; 6], Offers, Pair<B>, Vec<Pair<B>>);

fn begin<T: Transport, M: Memory>(t: &mut T, pairs_most: u16) -> Result<Parts<T::Bell>, Error> {
    assert!(pairs_most > 0, "a card without queues");
    reset(t)?;
    t.set_status(ACKNOWLEDGE);
    t.set_status(ACKNOWLEDGE | DRIVER);
    let offered = t.device_features();
    if offered & VERSION_1 == 0 {
        return Err(Error::Unusable("it is no virtio 1 device"));
    }
    let (has, pairs) = pairs(t, offered, pairs_most);
    let several = if pairs > 1 { MQ | CTRL_VQ } else { 0 };
    let wanted = offered & (WELCOME | MAC) | several | VERSION_1;
    t.set_driver_features(wanted);
    t.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK);
    if t.status() & FEATURES_OK == 0 {
        return Err(Error::Unusable("it offers features and does not take them"));
    }
    let offers = Offers {
        sends_checksums: wanted & CSUM != 0,
        checks_checksums: wanted & GUEST_CSUM != 0,
        event_idx: wanted & EVENT_IDX != 0,
        pairs,
    };
    let mac = mac(t, wanted)?;
    let mut first = pair::<T, M>(t, 0, offers)?;
    let mut more = Vec::new();
    for i in 1..pairs {
        more.push(pair::<T, M>(t, i, offers)?)
    }
    // Behind all pairs that the device has, used or not (5.1.2).
    let control = match pairs {
        1 => None,
        _ => match Control::new::<T, M>(t, 2 * has, offers.event_idx) {
            Ok(control) => Some(control),
            Err(error) => {
                drop((first, more));
                return begin_with_one::<T, M>(t, &error);
            }
        },
    };
    t.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    // Only from here on may the device be kicked.
    if control.is_some_and(|mut control| !control.use_pairs(pairs)) {
        // It may obey yet, and use queues that nobody looks at: so everything from the start.
        return begin_with_one::<T, M>(t, &"it does not obey");
    }
    first.receiver.refill();
    more.iter_mut().for_each(|pair| pair.receiver.refill());
    Ok((mac, offers, first, more))
}

/// Begins anew with one pair, since the queue for orders does not work, and says so.
fn begin_with_one<T: Transport, M: Memory>(
    t: &mut T,
    why: &dyn fmt::Display,
) -> Result<Parts<T::Bell>, Error> {
    log::warn!("several pairs of queues: {why}; one is used");
    begin::<T, M>(t, 1)
}

/// How many pairs the device has, and how many of them are used: never several where it has one.
fn pairs<T: Transport>(t: &T, offered: u64, most: u16) -> (u16, u16) {
    let mut has = [0; 2];
    let several = offered & MQ != 0 && offered & CTRL_VQ != 0 && t.config(PAIRS_AT, &mut has);
    if !several {
        return (1, 1);
    }
    let has = u16::from_le_bytes(has);
    if !PAIRS.contains(&has) {
        return (1, 1);
    }
    (has, has.min(most).min(t.interrupts() / 2).max(1))
}

fn pair<T: Transport, M: Memory>(
    t: &mut T,
    i: u16,
    offers: Offers,
) -> Result<Pair<T::Bell>, Error> {
    let (pool, bell) = queue::<T, M>(t, 2 * i, offers)?;
    let receiver = Receiver::new(pool, bell);
    let (pool, bell) = queue::<T, M>(t, 2 * i + 1, offers)?;
    Ok(Pair {
        receiver,
        transmitter: Transmitter::new(pool, bell),
    })
}

fn reset<T: Transport>(t: &mut T) -> Result<(), Error> {
    t.set_status(0);
    let done = (0..RESET_LOOKS).any(|_| t.status() == 0);
    done.then_some(())
        .ok_or(Error::Unusable("it does not reset"))
}

fn queue<T: Transport, M: Memory>(
    t: &mut T,
    queue: u16,
    offers: Offers,
) -> Result<(Pool, T::Bell), Error> {
    // A ring's size is a power of two (2.7), and so is what a device may offer.
    let size = t.queue_most(queue).min(QUEUE_MOST);
    if size < 2 || !size.is_power_of_two() {
        return Err(Error::Unusable("it lacks a queue"));
    }
    let (area, parts) = dma::ring::<M>(size)?;
    let mut ring = Queue::new(area, offers.event_idx);
    ring.interrupts_off();
    let setup = QueueSetup {
        size,
        parts,
        entry: queue,
    };
    // SAFETY: a ring of its own, in memory that is never freed (`Memory`).
    if !unsafe { t.start_queue(queue, &setup) } {
        return Err(Error::Unusable("it has too few interrupts"));
    }
    let bell = t.bell(queue);
    let bell = bell.ok_or(Error::Unusable("it takes no kicks"))?;
    Ok((Pool::new::<M>(ring)?, bell))
}

/// Its address, or one of the kind that everybody may give himself.
fn mac<T: Transport>(t: &T, features: u64) -> Result<[u8; 6], Error> {
    let [a, b, c, d, e, _, _, _] = Rng::new(arch::now_ns()).next_u64().to_le_bytes();
    let mut mac = [2, a, b, c, d, e];
    if features & MAC != 0 && !t.config(0, &mut mac) {
        return Err(Error::Unusable("it has no address"));
    }
    Ok(mac)
}
