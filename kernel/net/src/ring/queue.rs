//! The driver's side of a ring. One owner at a time: its methods take `&mut self`.

use super::area::{Area, Desc, NO_INTERRUPT, NO_NOTIFY};
use super::event::need_event;
use alloc::boxed::Box;
use alloc::vec::Vec;
use base::mutant::{mutant, order};
use base::shim::{Ordering::*, fence};
use core::fmt;

/// Memory for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Where, physically.
    pub phys: u64,
    /// Bytes.
    pub len: u32,
    /// The device writes to it; else it reads it. Those that it reads come first in a chain.
    pub device_writes: bool,
}

/// A chain that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// What [`Queue::add`] returned for it.
    pub head: u16,
    /// Bytes that the device wrote.
    pub len: u32,
}

/// A full fence as devices see it, also where the emulator leaves fences out.
fn fence_devices() {
    #[cfg(ringo_kernel)]
    arch::bare::fence_devices();
    #[cfg(not(ringo_kernel))]
    fence(SeqCst)
}

/// Too few free descriptors for the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The device does not keep to the rules. The ring takes and gives nothing any more; the device has to be reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Its index says that more chains came back than are out.
    Index {
        /// Chains that it says came back.
        ready: u16,
        /// Chains that it has.
        out: u16,
    },
    /// It gives back a chain that it does not have.
    Head(u32),
    /// It says that it wrote more than there was room for.
    Length {
        /// The chain.
        head: u16,
        /// Bytes that it says it wrote.
        len: u32,
        /// Bytes there were.
        room: u32,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Index { ready, out } => {
                write!(f, "{ready} chains came back, and {out} were out")
            }
            Broken::Head(head) => write!(f, "chain {head} came back, which is not out"),
            Broken::Length { head, len, room } => {
                write!(f, "{len} bytes in chain {head}, which has room for {room}")
            }
        }
    }
}

/// What is known of a descriptor, here where the device cannot write.
#[derive(Clone, Copy)]
struct Own {
    /// The next one of the chain, or of the free list.
    next: u16,
    /// Descriptors of the chain that begins here.
    len: u16,
    /// The device has that chain: it was published, and has not come back.
    out: bool,
    /// Bytes that the device may write to that chain.
    room: u32,
}

/// The driver's side.
pub struct Queue {
    area: Area,
    event_idx: bool,
    own: Box<[Own]>,
    /// Heads of chains that the device has not been shown yet.
    hidden: Vec<u16>,
    /// First of the free list, and how many are on it.
    free: u16,
    left: u16,
    /// The available index: chains added, and those of them that the device has been shown.
    added: u16,
    published: u16,
    /// The used index: chains taken back.
    taken: u16,
    /// I-LATE: of the chains published after this one it is not sure that the device was told, if it wanted to be.
    sure: u16,
    broken: Option<Broken>,
}

impl Queue {
    /// A ring in fresh memory. `event_idx`: VIRTIO_F_EVENT_IDX was negotiated.
    pub fn new(area: Area, event_idx: bool) -> Queue {
        let size = area.size();
        let own = (1..=size).map(|next| Own {
            next: next % size,
            len: 0,
            out: false,
            room: 0,
        });
        Queue {
            area,
            event_idx,
            own: own.collect(),
            hidden: Vec::with_capacity(size.into()),
            free: 0,
            left: size,
            added: 0,
            published: 0,
            taken: 0,
            sure: 0,
            broken: None,
        }
    }

    /// Descriptors that are free.
    pub fn left(&self) -> u16 {
        self.left
    }

    /// Chains that the device has, or will have at the next [`Queue::publish`].
    pub fn out(&self) -> u16 {
        self.added.wrapping_sub(self.taken)
    }

    /// What the device did wrong, if it did.
    pub fn broken(&self) -> Option<Broken> {
        self.broken
    }

    /// Puts a chain of buffers into the ring; the device sees it after [`Queue::publish`]. Returns its head.
    ///
    /// # Errors
    /// There are not enough free descriptors.
    ///
    /// # Panics
    /// If the chain is empty.
    pub fn add(&mut self, chain: &[Buffer]) -> Result<u16, Full> {
        assert!(!chain.is_empty(), "a chain without buffers");
        if chain.len() > usize::from(self.left) || self.broken.is_some() {
            return Err(Full);
        }
        let head = self.free;
        let mut at = head;
        let mut room = 0u32;
        for (i, b) in chain.iter().enumerate() {
            let next = self.own[usize::from(at)].next;
            let last = i + 1 == chain.len();
            self.area.set_desc(
                at,
                Desc {
                    phys: b.phys,
                    len: b.len,
                    device_writes: b.device_writes,
                    next: (!last).then_some(next),
                },
            );
            if b.device_writes {
                room = room.saturating_add(b.len)
            }
            if last { self.free = next } else { at = next }
        }
        let n = chain.len() as u16;
        self.left -= n;
        let own = &mut self.own[usize::from(head)];
        (own.len, own.room) = (n, room);
        self.hidden.push(head);
        self.area.avail[self.area.slot(self.added)].store(head, Relaxed);
        self.added = self.added.wrapping_add(1);
        Ok(head)
    }

    /// Shows the device all chains added since the last time. True: it wants to be told of them (a kick).
    #[must_use = "a device that wants to be told waits for it"]
    pub fn publish(&mut self) -> bool {
        self.publish_and(|| {
            if !mutant("kick_no_fence") {
                fence(SeqCst) // I-DEKKER: pairs with the device's, before its last look at the index
            }
        })
    }

    /// The same on a machine whose fences do nothing.
    #[cfg(ringo_loom)]
    pub fn publish_unfenced(&mut self) -> bool {
        self.publish_and(|| ())
    }

    fn publish_and(&mut self, fence: impl FnOnce()) -> bool {
        if self.added == self.published {
            return false;
        }
        for head in self.hidden.drain(..) {
            self.own[usize::from(head)].out = true
        }
        self.published = self.added;
        self.area
            .avail_idx
            .store(self.added, order("publish_relaxed", Release)); // pairs with the device's load of it: it sees entries and descriptors
        fence();
        self.wants_kick()
    }

    /// I-LATE: does the device wait for a kick that [`Queue::publish`] did not see it wish for? To be asked before nobody looks at the
    /// ring for long.
    #[must_use = "a device that wants to be told waits for it"]
    pub fn wants_late_kick(&mut self) -> bool {
        if self.sure == self.published {
            return false;
        }
        if !mutant("late_kick_no_fence") {
            fence_devices() // I-DEKKER, as in `publish`
        }
        let wants = self.wants_kick();
        self.sure = self.published;
        wants
    }

    /// Has what was published passed the place at which the device asks to be told? All of it that it may not have been told of:
    /// what came back it has seen.
    fn wants_kick(&mut self) -> bool {
        let old = match self.published.wrapping_sub(self.taken) {
            out if self.published.wrapping_sub(self.sure) > out => self.taken,
            _ => self.sure,
        };
        let wants = if self.event_idx {
            let event = self.area.avail_event.load(Relaxed);
            match mutant("kick_by_equality") {
                true => self.published == event.wrapping_add(1),
                false => need_event(event, self.published, old),
            }
        } else {
            self.published != old && self.area.used_flags.load(Relaxed) & NO_NOTIFY == 0
        };
        let sure = wants || mutant("late_kick_from_published");
        self.sure = if sure { self.published } else { old };
        wants
    }

    /// Takes back a chain that the device is done with.
    ///
    /// # Errors
    /// The device broke the rules, now or before.
    pub fn pop(&mut self) -> Result<Option<Used>, Broken> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        let used = self.area.used_idx.load(order("pop_relaxed", Acquire)); // pairs with the device's store of it: we see the entry and what it wrote
        let ready = used.wrapping_sub(self.taken);
        if ready == 0 {
            return Ok(None);
        }
        let out = self.published.wrapping_sub(self.taken);
        if ready > out {
            return self.breaks(Broken::Index { ready, out });
        }
        let [head, len] = &self.area.used[self.area.slot(self.taken)];
        let (head, len) = (head.load(Relaxed), len.load(Relaxed));
        let Some(own) = self.own.get(head as usize).filter(|own| own.out) else {
            return self.breaks(Broken::Head(head));
        };
        let (n, room, head) = (own.len, own.room, head as u16);
        if len > room {
            return self.breaks(Broken::Length { head, len, room });
        }
        self.taken = self.taken.wrapping_add(1);
        self.release(head, n);
        Ok(Some(Used { head, len }))
    }

    fn breaks(&mut self, how: Broken) -> Result<Option<Used>, Broken> {
        self.broken = Some(how);
        Err(how)
    }

    /// The chain's descriptors go back to the free list, the chain's head first.
    fn release(&mut self, head: u16, n: u16) {
        let mut last = head;
        for _ in 1..n {
            last = self.own[usize::from(last)].next
        }
        self.own[usize::from(last)].next = self.free;
        self.own[usize::from(head)].out = false;
        self.free = head;
        self.left += n
    }

    /// No interrupts from this ring, as far as the device listens: it may send one all the same.
    pub fn interrupts_off(&mut self) {
        if self.event_idx {
            // Passed already: the index gets there again after 65,535 chains.
            let passed = self.taken.wrapping_sub(1);
            self.area.used_event.store(passed, Relaxed)
        } else {
            self.area.avail_flags.store(NO_INTERRUPT, Relaxed)
        }
    }

    /// An interrupt when the next chain comes back. True: one has come back already, perhaps without an interrupt; look again.
    #[must_use = "for a chain that has come back there may be no interrupt"]
    pub fn interrupts_on(&mut self) -> bool {
        if self.event_idx {
            self.area.used_event.store(self.taken, Relaxed)
        } else {
            self.area.avail_flags.store(0, Relaxed)
        }
        if !mutant("rearm_no_fence") {
            fence_devices() // I-DEKKER: pairs with the device's, before it looks whether we want to be told
        }
        !mutant("rearm_no_recheck") && self.area.used_idx.load(Relaxed) != self.taken
    }
}
