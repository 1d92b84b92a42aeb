//! Which device on PCI is the disk.

use crate::dma::Dma;
use crate::settled::Settled;
use crate::{Disk, Error};
use arch::bare::{ConfigRegionAccess, PciAddress, PciFunction, PciSpace};
use virtio_drivers::transport::pci::bus::{ConfigurationAccess, DeviceFunction, PciRoot};
use virtio_drivers::transport::pci::{PciTransport, VIRTIO_VENDOR_ID};

/// A disk on PCI.
pub type PciDisk = Disk<Dma, PciTransport>;

/// Device numbers of a virtio disk: one that could also be driven in the old way, and one that could not.
const DISKS: [u16; 2] = [0x1001, 0x1042];

/// The configuration space in the types of `virtio-drivers`.
struct Space(PciSpace);

fn address(f: DeviceFunction) -> PciAddress {
    PciAddress::new(0, f.bus, f.device, f.function)
}

impl ConfigurationAccess for Space {
    fn read_word(&self, function: DeviceFunction, offset: u8) -> u32 {
        // SAFETY: reads of a function's first registers do nothing else.
        unsafe { self.0.read(address(function), offset.into()) }
    }
    fn write_word(&mut self, _: DeviceFunction, offset: u8, _: u32) {
        unreachable!("configuration register {offset} of a disk is written: I-SETTLED")
    }
    unsafe fn unsafe_clone(&self) -> Self {
        Space(self.0)
    }
}

/// Looks through PCI and starts the first disk. Once for each machine: the device has one driver.
///
/// # Errors
/// [`Error::NoDisk`], [`Error::Unusable`].
pub fn open() -> Result<PciDisk, Error> {
    let space = PciSpace::find().ok_or(Error::NoDisk)?;
    let mut found = None;
    space.for_each_function(|f: PciFunction| {
        let (id, class) = (f.device, f.class);
        log::info!(
            "pci {}: {:04x}:{id:04x} class {class:04x}",
            f.address,
            f.vendor
        );
        if f.vendor == VIRTIO_VENDOR_ID && DISKS.contains(&id) && found.is_none() {
            found = Some(f.address);
        }
    });
    let at = found.ok_or(Error::NoDisk)?;
    // SAFETY: nobody drives it yet, says the caller of this function.
    let bars = unsafe { space.enable(at) }.map_err(|error| {
        log::error!("disk at {at}: {error}");
        Error::Unusable("its registers have no addresses")
    })?;
    let function = DeviceFunction {
        bus: at.bus(),
        device: at.device(),
        function: at.function(),
    };
    let space = Settled::new(Space(space), bars);
    let transport = PciTransport::new::<Dma, _>(&mut PciRoot::new(space), function);
    let disk = Disk::new(transport.map_err(|error| {
        log::error!("disk at {at}: {error}");
        Error::Unusable("it is no virtio 1 device")
    })?)?;
    log::info!("disk at {at}: {} sectors", disk.sectors());
    Ok(disk)
}
