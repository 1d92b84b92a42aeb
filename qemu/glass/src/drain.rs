//! Events out of the rings of a machine while it runs. A ring that its CPU has run around since the last time has lost
//! events: how many is known, and said.

use crate::ram::{Ram, Space, u64_of};
use crate::view::Glass;
use trace::{Event, RingLayout};

const PAGE: u64 = 4096;
const SLOT: u64 = 16;

/// What one CPU recorded since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Events that were overwritten before they could be read; they lie before `events`.
    pub lost: u64,
    /// The others, in order.
    pub events: Vec<Event>,
    /// One more was being recorded when this was read.
    pub writing: bool,
}

/// The ring of one CPU, by physical addresses.
#[derive(Debug)]
struct Ring {
    next: u64,
    writing: u64,
    capacity: u64,
    /// Of the slots.
    pages: Vec<u64>,
    first: u64,
    taken: u64,
}

/// All rings.
#[derive(Debug)]
pub struct Drain {
    rings: Vec<Ring>,
}

impl Drain {
    /// `None` if the machine keeps no events.
    pub fn new(glass: &Glass) -> Option<Drain> {
        let space = glass.space();
        let ring = |cpu: u64| {
            let at = space.word(glass.header().rings + cpu * 8)?;
            (at != 0).then(|| Ring::new(space, at)).flatten()
        };
        let rings: Option<Vec<Ring>> = (0..glass.header().cpus).map(ring).collect();
        Some(Drain { rings: rings? })
    }

    /// A batch for each CPU.
    pub fn read(&mut self, ram: &Ram) -> Vec<Batch> {
        let read = |ring: &mut Ring| ring.read(ram).unwrap_or_default();
        self.rings.iter_mut().map(read).collect()
    }
}

impl Ring {
    fn new(space: &Space, at: u64) -> Option<Ring> {
        let first = space.word(at + RingLayout::FIRST_SLOT as u64)?;
        let capacity = space.word(at + RingLayout::CAPACITY as u64)?;
        let pages = (first & !(PAGE - 1)..first + capacity * SLOT).step_by(PAGE as usize);
        Some(Ring {
            next: space.physical(at + RingLayout::NEXT as u64)?,
            writing: space.physical(at + RingLayout::WRITING as u64)?,
            capacity,
            pages: pages
                .map(|page| space.physical(page))
                .collect::<Option<_>>()?,
            first: first % PAGE,
            taken: 0,
        })
    }

    fn oldest(&self, next: u64) -> u64 {
        // One could be under way, over the oldest.
        (next + 1).saturating_sub(self.capacity)
    }

    fn read(&mut self, ram: &Ram) -> Option<Batch> {
        // In this order: an event that is not among those below `next` either had not begun, or `writing` tells.
        let writing = ram.word(self.writing)? != 0;
        let next = ram.word(self.next)?;
        let from = self.taken.max(self.oldest(next));
        let bytes = self.copy(ram, from, next)?;
        let whole = from.max(self.oldest(ram.word(self.next)?)).min(next);
        let slots = bytes
            .chunks_exact(SLOT as usize)
            .skip((whole - from) as usize);
        let events: Vec<Event> = slots
            .filter_map(|slot| Event::unpack(u64_of(slot, 0), u64_of(slot, 8)))
            .collect();
        let lost = next - self.taken - events.len() as u64;
        self.taken = next;
        Some(Batch {
            lost,
            events,
            writing,
        })
    }

    /// The bytes of slots `from` to `to` - 1, piece by piece as they lie on pages.
    fn copy(&self, ram: &Ram, from: u64, to: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; ((to - from) * SLOT) as usize];
        let (mut index, mut done) = (from, 0);
        while index < to {
            let at = self.first + index % self.capacity * SLOT;
            let on_page = (PAGE - at % PAGE) / SLOT;
            let to_end = self.capacity - index % self.capacity;
            let count = on_page.min(to_end).min(to - index);
            let end = done + (count * SLOT) as usize;
            let page = self.pages.get((at / PAGE) as usize)?;
            if !ram.read(page + at % PAGE, &mut bytes[done..end]) {
                return None;
            }
            (index, done) = (index + count, end);
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::tests::{put, ram};

    /// A ring of 512 slots on three pages in the wrong order.
    fn ring() -> Ring {
        Ring {
            next: 0x100,
            writing: 0x108,
            capacity: 512,
            pages: vec![0x5000, 0x3000, 0x4000],
            first: 0x20,
            taken: 0,
        }
    }

    fn record(ring: &Ring, ram: &Ram, n: u64) {
        let at = ring.first + n % ring.capacity * SLOT;
        let word = n << 32; // kind 0
        put(
            ram,
            ring.pages[(at / PAGE) as usize] + at % PAGE,
            &[n, word],
        );
        put(ram, ring.next, &[n + 1]);
    }

    #[test]
    fn everything_comes_once_and_losses_are_counted() {
        let (mut ring, ram) = (ring(), ram(1 << 20, 1 << 20));
        let mut n = 0;
        let mut expected = 0;
        for (more, lost) in [(0, 0), (3, 0), (500, 0), (511, 0), (512, 1), (2000, 1489)] {
            for _ in 0..more {
                record(&ring, &ram, n);
                n += 1;
            }
            put(&ram, ring.writing, &[n % 2]);
            let batch = ring.read(&ram).unwrap();
            assert_eq!(batch.lost, lost, "of {more}");
            assert_eq!(batch.writing, n % 2 == 1);
            expected += lost;
            for event in batch.events {
                assert_eq!((event.ns, u64::from(event.goid)), (expected, expected));
                expected += 1;
            }
            assert_eq!(expected, n);
        }
    }
}
