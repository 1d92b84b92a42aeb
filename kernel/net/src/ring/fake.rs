//! The device's side of a ring, for tests: one that keeps to the rules, with handles to break them.

use super::area::{Area, Desc, NO_INTERRUPT, NO_NOTIFY};
use super::event::need_event;
use alloc::vec::Vec;
use base::shim::{Ordering::*, fence};

/// A chain as the device sees it: address, bytes, and whether the device writes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Its first descriptor.
    pub head: u16,
    /// Its buffers.
    pub parts: Vec<(u64, u32, bool)>,
}

/// A device.
pub struct FakeDevice {
    area: Area,
    event_idx: bool,
    /// The available index: chains taken.
    taken: u16,
    /// The used index: chains given back, and those of them that the driver has been shown.
    given: u16,
    published: u16,
}

impl FakeDevice {
    /// The other side of the queue in `area`.
    pub fn new(area: Area, event_idx: bool) -> FakeDevice {
        FakeDevice {
            area,
            event_idx,
            taken: 0,
            given: 0,
            published: 0,
        }
    }

    /// The next chain.
    pub fn take(&mut self) -> Option<Chain> {
        if self.area.avail_idx.load(Acquire) == self.taken {
            return None;
        }
        let head = self.area.avail[self.area.slot(self.taken)].load(Relaxed);
        self.taken = self.taken.wrapping_add(1);
        let mut parts = Vec::new();
        let mut at = Some(head);
        while let Some(i) = at {
            let Desc {
                phys,
                len,
                device_writes,
                next,
            } = self.area.desc(i);
            parts.push((phys, len, device_writes));
            assert!(
                parts.len() <= usize::from(self.area.size()),
                "a chain that bites its tail"
            );
            at = next
        }
        Some(Chain { head, parts })
    }

    /// Gives a chain back; the driver sees it after [`FakeDevice::publish`]. Nothing is checked.
    pub fn give(&mut self, head: u32, len: u32) {
        let [h, l] = &self.area.used[self.area.slot(self.given)];
        h.store(head, Relaxed);
        l.store(len, Relaxed);
        self.given = self.given.wrapping_add(1)
    }

    /// Shows the driver what was given back. True: it wants an interrupt.
    pub fn publish(&mut self) -> bool {
        let old = core::mem::replace(&mut self.published, self.given);
        self.area.used_idx.store(self.given, Release);
        fence(SeqCst);
        if self.event_idx {
            need_event(self.area.used_event.load(Relaxed), self.given, old)
        } else {
            self.given != old && self.area.avail_flags.load(Relaxed) & NO_INTERRUPT == 0
        }
    }

    /// Moves the used index anywhere.
    pub fn claim(&mut self, used_idx: u16) {
        self.area.used_idx.store(used_idx, Release)
    }

    /// Does not want to be told of chains.
    pub fn kicks_off(&mut self) {
        if self.event_idx {
            self.area
                .avail_event
                .store(self.taken.wrapping_sub(1), Relaxed)
        } else {
            self.area.used_flags.store(NO_NOTIFY, Relaxed)
        }
    }

    /// Wants to be told of the next chain. True: there is one already.
    pub fn kicks_on(&mut self) -> bool {
        if self.event_idx {
            self.area.avail_event.store(self.taken, Relaxed)
        } else {
            self.area.used_flags.store(0, Relaxed)
        }
        fence(SeqCst);
        self.area.avail_idx.load(Relaxed) != self.taken
    }
}
