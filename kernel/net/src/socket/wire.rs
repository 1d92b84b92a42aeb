//! The way from the machine to its card: PCI on the bare machine, none on the host.

use super::card::Card;
#[cfg(ringo_kernel)]
use crate::device::{self, Frames, Nic, Pair, PciBell, PciTransport};

/// Pairs of queues that are used at most: each has two of the vectors for devices, and a bit of a word.
#[cfg(ringo_kernel)]
const PAIRS_MOST: usize = 64;

/// What rings the card's bell.
#[cfg(ringo_kernel)]
pub(super) type Bell = PciBell;
/// There is no card on the host machine, and so no bell.
#[cfg(not(ringo_kernel))]
pub(super) type Bell = core::convert::Infallible;

/// The machine's card, if there is one that can be used.
#[cfg(ringo_kernel)]
pub(super) fn open() -> Option<Card<Bell>> {
    let transport = match device::find() {
        Ok(transport) => transport,
        Err(device::Error::NoDevice) => return None,
        Err(error) => {
            log::error!("network card: {error}");
            return None;
        }
    };
    let most = arch::num_cpus().min(PAIRS_MOST) as u16;
    let nic = device::start_with::<_, Frames>(transport, most).and_then(route);
    match nic {
        Ok(nic) => {
            let first = Pair {
                receiver: nic.receiver,
                transmitter: nic.transmitter,
            };
            let pairs = core::iter::once(first).chain(nic.more);
            Some(Card::new(nic.mac, nic.offers, pairs))
        }
        Err(error) => {
            log::error!("network card: {error}");
            None
        }
    }
}

/// The interrupts of pair `i` go to CPU `i`; who polls then is another matter.
#[cfg(ringo_kernel)]
fn route(mut nic: Nic<PciTransport>) -> Result<Nic<PciTransport>, device::Error> {
    for entry in 0..2 * nic.offers.pairs {
        let vector = arch::bare::VECTOR_DEVICE_FIRST + entry as u8;
        if !nic.transport.route(entry, usize::from(entry / 2), vector) {
            return Err(device::Error::Unusable("it has too few interrupts"));
        }
    }
    Ok(nic)
}

/// What sequence numbers, ports and hashes are drawn from: with `seed=` the same each time.
pub(super) fn seed() -> u64 {
    sched::this().cfg.seed.unwrap_or_else(arch::entropy)
}

/// The machine's memory; none of its own on the host machine.
pub(super) fn memory_bytes() -> Option<usize> {
    #[cfg(ringo_kernel)]
    return Some(mem::frames::total_frames() as usize * mem::PAGE_BYTES);
    #[cfg(not(ringo_kernel))]
    None
}

/// One part in so many of the memory is left to what is no connection.
#[cfg(ringo_kernel)]
const KEPT_PART: u64 = 16;

/// Whether a connection may take so much. Who asks for it from outside shall not take what the kernel needs for itself.
pub(super) fn has_memory(bytes: usize) -> bool {
    #[cfg(ringo_kernel)]
    {
        let kept = mem::frames::total_frames() / KEPT_PART;
        mem::frames::free_frames() > kept + (bytes / mem::PAGE_BYTES) as u64
    }
    #[cfg(not(ringo_kernel))]
    {
        _ = bytes;
        true
    }
}

/// The runner looks for this symbol: a program that has it would use a card.
// SAFETY: nobody else uses the name; the driver, which has its own, is not there on the host.
#[cfg(not(ringo_kernel))]
#[unsafe(no_mangle)]
static RINGO_NET: u8 = 1;

/// The machine's card, if there is one that can be used.
#[cfg(not(ringo_kernel))]
pub(super) fn open() -> Option<Card<Bell>> {
    // Keeps the symbol in the program.
    core::hint::black_box(&RINGO_NET);
    None
}

#[cfg(not(ringo_kernel))]
impl crate::device::Bell for Bell {
    fn ring(&self) {
        match *self {}
    }
}
