//! From a device on the bus to one that runs (virtio 1.2, 3.1.1).

use super::pool::Pool;
use super::transport::{ACKNOWLEDGE, DRIVER, DRIVER_OK, FAILED, FEATURES_OK};
use super::{Error, Memory, QueueSetup, Receiver, Transmitter, Transport, dma};
use crate::ring::Queue;
use base::Rng;

/// Feature bits (virtio 1.2, 5.1.3 and 6).
const CSUM: u64 = 1 << 0;
const GUEST_CSUM: u64 = 1 << 1;
const MAC: u64 = 1 << 5;
const EVENT_IDX: u64 = 1 << 29;
const VERSION_1: u64 = 1 << 32;
/// Those that we can do without.
const WELCOME: u64 = CSUM | GUEST_CSUM | EVENT_IDX;

/// Queues of the first pair.
const RECEIVE: u16 = 0;
const TRANSMIT: u16 = 1;
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
    /// Its registers.
    pub transport: T,
}

/// Starts the device. Interrupts: entry 0 for what came, entry 1 for what has gone; both are off until somebody listens.
///
/// # Errors
/// It is not one that this driver knows, or there is no memory; it is then given up.
pub fn start<T: Transport, M: Memory>(mut transport: T) -> Result<Nic<T>, Error> {
    match begin::<T, M>(&mut transport) {
        Ok((mac, offers, receiver, transmitter)) => Ok(Nic {
            mac,
            offers,
            receiver,
            transmitter,
            transport,
        }),
        Err(error) => {
            let status = transport.status();
            transport.set_status(status | FAILED); // bits are only added (2.1.1)
            Err(error)
        }
    }
}

type Parts<B> = ([u8; 6], Offers, Receiver<B>, Transmitter<B>);

fn begin<T: Transport, M: Memory>(t: &mut T) -> Result<Parts<T::Bell>, Error> {
    reset(t)?;
    t.set_status(ACKNOWLEDGE);
    t.set_status(ACKNOWLEDGE | DRIVER);
    let offered = t.device_features();
    if offered & VERSION_1 == 0 {
        return Err(Error::Unusable("it is no virtio 1 device"));
    }
    let wanted = offered & (WELCOME | MAC) | VERSION_1;
    t.set_driver_features(wanted);
    t.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK);
    if t.status() & FEATURES_OK == 0 {
        return Err(Error::Unusable("it offers features and does not take them"));
    }
    let offers = Offers {
        sends_checksums: wanted & CSUM != 0,
        checks_checksums: wanted & GUEST_CSUM != 0,
        event_idx: wanted & EVENT_IDX != 0,
    };
    let mac = mac(t, wanted)?;
    let (pool, bell) = queue::<T, M>(t, RECEIVE, offers)?;
    let mut receiver = Receiver::new(pool, bell);
    let (pool, bell) = queue::<T, M>(t, TRANSMIT, offers)?;
    let transmitter = Transmitter::new(pool, bell);
    t.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    // Only from here on may the device be kicked.
    receiver.refill();
    Ok((mac, offers, receiver, transmitter))
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
