//! What lies at which address stays while several CPUs run (I-SETTLED).

use crate::wait::{bump, hold_until};
use crate::{Outcome, Test, ensure, figure};
use alloc::string::ToString;
use arch::bare::{ConfigRegionAccess, PciAddress, PciSpace};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use net::device::{self, Frames};
use ringo::disk;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("pci_settled", pci_settled)];

const MEMORY: u32 = 2;
/// I/O ports, memory.
const DECODES: u32 = 3;

/// What says where a function answers: which kinds of addresses, and its BARs.
fn places(space: &PciSpace, at: PciAddress) -> [u32; 7] {
    // SAFETY: reads of a function's first registers do nothing else.
    let word = |offset| unsafe { space.read(at, offset) };
    core::array::from_fn(|i| match i {
        0 => word(4) & DECODES,
        i => word(0x0c + 4 * i as u16),
    })
}

/// A goroutine on another CPU looks again and again while the disk and the network card are started.
fn pci_settled() -> Outcome {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    static DONE: AtomicBool = AtomicBool::new(false);
    let space = PciSpace::find().ok_or("no PCI")?;
    let mut devices = Vec::new();
    space.for_each_function(|f| {
        if f.vendor == 0x1af4 {
            devices.push((f.address, places(&space, f.address)))
        }
    });
    ensure!(devices.len() >= 2, "{} devices", devices.len());
    for (at, places) in &devices {
        ensure!(places[0] == MEMORY, "{at} answers to kinds {}", places[0]);
    }
    let watcher = spawn(move || -> Outcome {
        while !DONE.load(Acquire) {
            for (at, before) in &devices {
                let now = places(&space, *at);
                ensure!(now == *before, "{at} has moved: {before:x?} to {now:x?}");
            }
            bump(&LOOKS);
        }
        Ok(())
    });
    hold_until(|| LOOKS.load(Acquire) != 0);
    let before = LOOKS.load(Acquire);
    let sectors = disk::sectors().map_err(|e| e.to_string());
    let card = device::find().and_then(device::start::<_, Frames>);
    figure!("looks", LOOKS.load(Acquire) - before);
    DONE.store(true, Release);
    watcher.join()?;
    ensure!(sectors? != 0, "an empty disk");
    ensure!(card.is_ok(), "{:?}", card.err());
    Ok(())
}
