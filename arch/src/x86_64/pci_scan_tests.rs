//! Scanning and BARs against a configuration space made by hand.

use super::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// A function: its registers, and which bits of its BARs can be written.
#[derive(Clone, Default)]
struct Fake {
    registers: [u32; 16],
    bar_masks: [u32; 6],
}

#[derive(Default)]
struct Space(RefCell<HashMap<Place, Fake>>);
type Place = (u8, u8, u8);

fn key(a: PciAddress) -> Place {
    (a.bus(), a.device(), a.function())
}

impl ConfigRegionAccess for Space {
    unsafe fn read(&self, address: PciAddress, offset: u16) -> u32 {
        let space = self.0.borrow();
        space
            .get(&key(address))
            .map_or(u32::MAX, |f| f.registers[usize::from(offset / 4)])
    }
    unsafe fn write(&self, address: PciAddress, offset: u16, value: u32) {
        let mut space = self.0.borrow_mut();
        let f = space
            .get_mut(&key(address))
            .expect("writes go to functions that are there");
        let i = usize::from(offset / 4);
        if (4..10).contains(&i) {
            assert_eq!(f.registers[1] & 3, 0, "a BAR is written while it decodes");
            let mask = f.bar_masks[i - 4];
            f.registers[i] = (f.registers[i] & !mask) | (value & mask);
        } else {
            f.registers[i] = value;
        }
    }
}

impl Space {
    fn with(self, at: Place, id: u32, header: u32, bars: &[(u32, u32)]) -> Space {
        let mut f = Fake::default();
        (f.registers[0], f.registers[3]) = (id, header << 16);
        for (i, (value, mask)) in bars.iter().enumerate() {
            (f.registers[4 + i], f.bar_masks[i]) = (*value, *mask);
        }
        self.0.borrow_mut().insert(at, f);
        self
    }
    fn bridge(self, at: Place, behind: u32) -> Space {
        let space = self.with(at, 0x1b36, 1, &[]);
        space.0.borrow_mut().get_mut(&at).unwrap().registers[6] = behind << 8;
        space
    }
    fn found(&self) -> Vec<Place> {
        let mut all = vec![];
        for_each_function(self, |f| all.push(key(f.address)));
        all
    }
    fn register(&self, at: Place, i: usize) -> u32 {
        self.0.borrow()[&at].registers[i]
    }
}

/// An I/O BAR, a 32-bit one of 4 KiB, a 64-bit one of 16 KiB at 4: what a virtio disk has.
const VIRTIO: &[(u32, u32)] = &[
    (1, 0xffff_ff80),
    (0, 0xffff_f000),
    (0, 0),
    (0, 0),
    (0xc, 0xffff_c000),
    (0, u32::MAX),
];
const AT: Place = (0, 3, 0);

fn window() -> Window {
    Window {
        next: 0xc000_0000,
        end: 0xe000_0000,
    }
}
fn address() -> PciAddress {
    PciAddress::new(0, AT.0, AT.1, AT.2)
}

#[test]
fn functions_of_single_and_many() {
    let space = Space::default()
        .with((0, 0, 0), 0x0008_1b36, 0, &[])
        .with((0, 0, 1), 0x0008_1b36, 0, &[]) // function 0 says that it is alone
        .with((0, 31, 0), 0x2918_8086, 0x80, &[])
        .with((0, 31, 7), 0x2930_8086, 0, &[])
        .with((0, 5, 2), 0x1, 0, &[]); // without a function 0 there is no device
    assert_eq!(space.found(), [(0, 0, 0), (0, 31, 0), (0, 31, 7)]);
}

#[test]
fn behind_bridges_once_each() {
    let space = Space::default()
        .bridge((0, 1, 0), 200)
        .bridge((0, 2, 0), 0) // not set up
        .bridge((0, 3, 0), 1)
        .with((1, 0, 0), 0x1001_1af4, 0, &[])
        .bridge((200, 4, 0), 1) // leads to a bus that was seen
        .bridge((200, 5, 0), 200); // to itself
    let all = space.found();
    assert_eq!(
        all,
        [
            (0, 1, 0),
            (0, 2, 0),
            (0, 3, 0),
            (1, 0, 0),
            (200, 4, 0),
            (200, 5, 0)
        ]
    );
}

#[test]
fn empty_bars_get_addresses() {
    let space = Space::default().with(AT, 0x1001_1af4, 0, VIRTIO);
    let mut window = window();
    window.next += 0x1000;
    settle(&space, address(), Some(&mut window)).unwrap();
    assert_eq!(space.register(AT, 5), 0xc000_1000);
    // At a multiple of its size; its flags stay.
    assert_eq!(
        (space.register(AT, 8), space.register(AT, 9)),
        (0xc000_400c, 0)
    );
    assert_eq!(space.register(AT, 4), 1, "I/O ports are left alone");
    assert_eq!(window.next, 0xc000_8000);
    assert_eq!(space.register(AT, 1), MEMORY | NO_INTX);
    enable(&space, address());
    assert_eq!(space.register(AT, 1), MEMORY | BUS_MASTER | NO_INTX);
}

#[test]
fn addresses_of_firmware_stay() {
    let mut bars = VIRTIO.to_vec();
    (bars[1].0, bars[4].0, bars[5].0) = (0xfebd_1000, 0xc, 0x38); // the second above 4 GiB
    let space = Space::default().with(AT, 0x1001_1af4, 0, &bars);
    settle(&space, address(), None).unwrap();
    assert_eq!(space.register(AT, 5), 0xfebd_1000);
    assert_eq!((space.register(AT, 8), space.register(AT, 9)), (0xc, 0x38));
}

#[test]
fn what_cannot_be_settled() {
    let space = Space::default()
        .with(AT, 0x1001_1af4, 0, VIRTIO)
        .bridge((0, 9, 0), 1);
    assert_eq!(settle(&space, address(), None), Err(PciError::NoAddress(1)));
    let mut small = Window {
        next: 0xc000_0000,
        end: 0xc000_2000,
    };
    assert_eq!(
        settle(&space, address(), Some(&mut small)),
        Err(PciError::WindowFull)
    );
    assert_eq!(space.register(AT, 1) & MEMORY, 0, "it does not answer");
    let bridge = PciAddress::new(0, 0, 9, 0);
    assert_eq!(settle(&space, bridge, None), Err(PciError::NoEndpoint));
}

#[test]
fn bars_of_kinds_that_are_gone_are_left_alone() {
    // Below 1 MiB; reserved; 64 bits without a second half.
    let bars = [
        (2, 0xffff_f000),
        (6, 0xffff_f000),
        (0, 0),
        (0, 0),
        (0, 0),
        (4, 0xffff_f000),
    ];
    let space = Space::default().with(AT, 0x1001_1af4, 0, &bars);
    settle(&space, address(), None).unwrap();
    assert_eq!(space.register(AT, 4), 2);
}

#[test]
fn what_moves_a_device() {
    assert!(moves(0x10, 0, 0xc000_0000));
    assert!(moves(0x24, 0, 0) && moves(0x30, 0, 1));
    assert!(moves(COMMAND, MEMORY, 0) && moves(COMMAND, 0, IO));
    assert!(!moves(COMMAND, MEMORY, MEMORY | BUS_MASTER | NO_INTX));
    assert!(!moves(0x28, 0, 1) && !moves(0x34, 0, 1) && !moves(0x40, 0, 1));
}
