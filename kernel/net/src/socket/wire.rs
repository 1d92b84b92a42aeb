//! The way from the machine to its card: PCI on the bare machine, none on the host.

use super::card::Card;
#[cfg(ringo_kernel)]
use crate::device::{self, Frames, Nic, PciBell, PciTransport};

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
    let nic = device::start::<_, Frames>(transport).and_then(route);
    match nic {
        Ok(nic) => Some(Card::new(
            nic.mac,
            nic.offers,
            nic.receiver,
            nic.transmitter,
        )),
        Err(error) => {
            log::error!("network card: {error}");
            None
        }
    }
}

/// Both interrupts go to the first CPU; who polls then is another matter.
#[cfg(ringo_kernel)]
fn route(mut nic: Nic<PciTransport>) -> Result<Nic<PciTransport>, device::Error> {
    for entry in [0, 1] {
        let vector = arch::bare::VECTOR_DEVICE_FIRST + entry as u8;
        if !nic.transport.route(entry, 0, vector) {
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

/// The machine's card, if there is one that can be used.
#[cfg(not(ringo_kernel))]
pub(super) fn open() -> Option<Card<Bell>> {
    None
}

#[cfg(not(ringo_kernel))]
impl crate::device::Bell for Bell {
    fn ring(&self) {
        match *self {}
    }
}
