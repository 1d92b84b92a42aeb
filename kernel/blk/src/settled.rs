//! A device whose registers have their addresses, shown to a library that wants to size them once more.
//!
//! `virtio-drivers` switches a device off, writes ones into its BARs and switches it on again to see how large they are. What
//! answers at which address may change only while the machine starts (I-SETTLED in `arch`), so it is told here what it
//! would find, and the device hears nothing.

use virtio_drivers::transport::pci::bus::{ConfigurationAccess, DeviceFunction};

/// Where the memory BARs lie, and how many bytes each has.
type Bars = [Option<(u64, u64)>; 6];

/// Offsets of the command register and of the first BAR; a BAR that has a second half.
const COMMAND: u8 = 0x04;
const BAR_0: u8 = 0x10;
const KIND: u32 = 0b111;
const KIND_64_BITS: u32 = 0b100;
const FLAGS: u32 = 0b1111;

/// The configuration space of one device.
pub(crate) struct Settled<A> {
    space: A,
    bars: Bars,
    /// Ones were written into these BARs and not yet anything else, a bit each.
    sized: u8,
}

impl<A: ConfigurationAccess> Settled<A> {
    /// `bars` are those of the only device that will be asked for.
    pub(crate) fn new(space: A, bars: Bars) -> Self {
        Settled {
            space,
            bars,
            sized: 0,
        }
    }

    /// What BAR `slot` reads as after ones were written. `upper`: it is the second half of the one before.
    fn size_mask(&self, slot: usize, word: u32, upper: bool) -> u32 {
        let mask = |slot: usize| self.bars[slot].map_or(0, |(_, bytes)| !(bytes - 1));
        match upper {
            true => (mask(slot - 1) >> 32) as u32,
            false => mask(slot) as u32 | word & FLAGS,
        }
    }
}

fn bar(offset: u8) -> Option<usize> {
    let slot = usize::from(offset.checked_sub(BAR_0)?) / 4;
    (slot < 6).then_some(slot)
}

impl<A: ConfigurationAccess> ConfigurationAccess for Settled<A> {
    fn read_word(&self, function: DeviceFunction, offset: u8) -> u32 {
        let word = self.space.read_word(function, offset);
        match bar(offset) {
            Some(slot) if self.sized & 1 << slot != 0 => {
                let before = offset - 4;
                let upper = slot > 0
                    && self.bars[slot - 1].is_some()
                    && self.space.read_word(function, before) & KIND == KIND_64_BITS;
                self.size_mask(slot, word, upper)
            }
            _ => word,
        }
    }

    fn write_word(&mut self, function: DeviceFunction, offset: u8, value: u32) {
        match bar(offset) {
            Some(slot) => {
                let bit = 1 << slot;
                self.sized = self.sized & !bit | if value == u32::MAX { bit } else { 0 }
            }
            None if offset == COMMAND => {} // only to have it silent meanwhile
            None => self.space.write_word(function, offset, value),
        }
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Settled {
            // SAFETY: the caller's promise.
            space: unsafe { self.space.unsafe_clone() },
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use virtio_drivers::transport::pci::bus::{BarInfo, MemoryBarType, PciRoot};

    const FUNCTION: DeviceFunction = DeviceFunction {
        bus: 0,
        device: 3,
        function: 0,
    };

    /// Registers that nobody may write.
    struct Fixed([u32; 10]);

    impl ConfigurationAccess for Fixed {
        fn read_word(&self, _: DeviceFunction, offset: u8) -> u32 {
            self.0[usize::from(offset / 4)]
        }
        fn write_word(&mut self, _: DeviceFunction, offset: u8, value: u32) {
            panic!("{value:#x} is written to register {offset:#x}")
        }
        unsafe fn unsafe_clone(&self) -> Self {
            Fixed(self.0)
        }
    }

    #[test]
    fn what_the_library_finds_without_writing() {
        // An I/O BAR, a 32-bit one, a 64-bit one above 4 GiB, and one of 8 GiB.
        let words = [
            0x1001_1af4,
            6,
            0,
            0,
            0xc001,
            0xfebd_1000,
            0xc,
            0x38,
            0xc,
            0x40,
        ];
        let big = 8 << 30;
        let bars = [
            None,
            Some((0xfebd_1000, 0x1000)),
            Some((0x38 << 32, 0x4000)),
            None,
            Some((0x40 << 32, big)),
            None,
        ];
        let mut root = PciRoot::new(Settled::new(Fixed(words), bars));
        let memory = |address_type, prefetchable, address, size| BarInfo::Memory {
            address_type,
            prefetchable,
            address,
            size,
        };
        let wide = MemoryBarType::Width64;
        let found: Vec<_> = [1, 2, 4]
            .map(|i| root.bar_info(FUNCTION, i).unwrap())
            .into();
        assert_eq!(
            found,
            [
                Some(memory(MemoryBarType::Width32, false, 0xfebd_1000, 0x1000)),
                Some(memory(wide, true, 0x38 << 32, 0x4000)),
                Some(memory(wide, true, 0x40 << 32, big)),
            ]
        );
        // Once more: nothing was left behind.
        assert_eq!(root.bar_info(FUNCTION, 1).unwrap(), found[0]);
    }
}
