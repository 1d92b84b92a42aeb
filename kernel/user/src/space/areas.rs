//! The areas of a space: plain bookkeeping, under its lock.

use super::{Access, Denied, SharedFrames};
use crate::files::Bytes;
use crate::limits;
use crate::machine::{self, PAGE};
use abi::Error;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// Areas that are looked at, and pages that are taken out, while the space is locked: others wait for it, with preemption off.
pub(super) const AT_ONCE: usize = 64;

/// A row of pages.
#[derive(Clone)]
pub(super) struct Area {
    pub(super) end: u64,
    pub(super) access: Access,
    pub(super) kind: Kind,
    /// The kernel has placed it: ring 3 cannot take it out.
    kept: bool,
}

/// What is in it.
#[derive(Clone)]
pub(super) enum Kind {
    /// Zeroes.
    Zero,
    /// Bytes `from..from + len` of the file from address `at` on, else zeroes.
    Image {
        file: Bytes,
        from: usize,
        len: usize,
        at: u64,
    },
    /// Frames of a shared memory, from number `first` on.
    Shared {
        memory: Arc<dyn SharedFrames>,
        first: u64,
    },
    /// It is being taken out by the caller of that number; pages below `next` are out.
    Going {
        by: u64,
        next: u64,
        memory: Option<Arc<dyn SharedFrames>>,
    },
}

impl Area {
    fn new(access: Access, kind: Kind) -> Area {
        Area {
            end: 0, // `insert` knows
            access,
            kind,
            kept: false,
        }
    }

    pub(super) fn zero(access: Access) -> Area {
        Self::new(access, Kind::Zero)
    }

    pub(super) fn shared(memory: Arc<dyn SharedFrames>, access: Access) -> Area {
        Self::new(access, Kind::Shared { memory, first: 0 })
    }

    pub(super) fn image(file: Bytes, (from, len): (usize, usize), at: u64, access: Access) -> Area {
        let kind = Kind::Image {
            file,
            from,
            len,
            at,
        };
        Self::new(access, kind)
    }

    pub(super) fn kept(mut self) -> Area {
        self.kept = true;
        self
    }

    /// What of the file lies on `page`.
    pub(super) fn fill(&self, page: u64, to: &mut [u8]) {
        let Kind::Image {
            file,
            from,
            len,
            at,
        } = &self.kind
        else {
            return;
        };
        let (start, end) = (page.max(*at), (page + PAGE).min(at + *len as u64));
        if start < end {
            let (offset, n) = ((start - at) as usize, (end - start) as usize);
            let bytes = &(**file).as_ref()[from + offset..][..n];
            to[(start - page) as usize..][..n].copy_from_slice(bytes);
        }
    }

    /// Cuts off what lies from `at` on.
    fn split(&mut self, start: u64, at: u64) -> Area {
        let mut tail = self.clone();
        if let Kind::Shared { first, .. } = &mut tail.kind {
            *first += (at - start) / PAGE;
        }
        self.end = at;
        tail
    }
}

/// All areas of a space, by their starts. They do not overlap.
pub(super) struct Areas {
    pub(super) by_start: BTreeMap<u64, Area>,
    /// Pages of all of them.
    mapped: u64,
    mapped_max: u64,
    /// **I-FULL** Below the first there is no room for so many bytes as the second says: who looks for as much begins there.
    full: (u64, u64),
    /// Callers that have taken something out.
    callers: u64,
    /// Areas that have been removed.
    removed: u64,
}

/// A search for room, which looks at some areas at a time.
pub(super) struct Search {
    bytes: u64,
    /// Nothing lower will be found.
    from: u64,
    /// `removed` when it began: what is removed since may have left room lower down.
    removed: u64,
}

impl Areas {
    pub(super) fn new(mapped_max: u64) -> Areas {
        Areas {
            by_start: BTreeMap::new(),
            mapped: 0,
            mapped_max,
            full: (0, u64::MAX),
            callers: 0,
            removed: 0,
        }
    }

    /// The area of a page that can be used, and its start.
    pub(super) fn find(&self, page: u64) -> Result<(u64, &Area), Denied> {
        let below = self.by_start.range(..=page).next_back();
        match below {
            Some((&start, area)) if page < area.end => match area.kind {
                Kind::Going { .. } => Err(Denied::Nothing),
                _ => Ok((start, area)),
            },
            Some((_, area)) if page == area.end => Err(Denied::Guard),
            _ if self.by_start.contains_key(&(page + PAGE)) => Err(Denied::Guard),
            _ => Err(Denied::Nothing),
        }
    }

    pub(super) fn is_shared(&self, page: u64) -> bool {
        let below = self.by_start.range(..=page).next_back();
        below.is_some_and(|(_, area)| page < area.end && matches!(area.kind, Kind::Shared { .. }))
    }

    /// Is nothing mapped between the two?
    pub(super) fn is_free(&self, start: u64, end: u64) -> bool {
        let below = self.by_start.range(..end).next_back();
        below.is_none_or(|(_, area)| area.end <= start)
    }

    /// A search from `from` on for a place for so many bytes. All callers look from the same place.
    pub(super) fn search(&self, bytes: u64, from: u64) -> Search {
        let (full_to, for_bytes) = self.full;
        let from = match bytes >= for_bytes {
            true => from.max(full_to),
            false => from,
        };
        let removed = self.removed;
        Search {
            bytes,
            from,
            removed,
        }
    }

    /// The lowest place up to `to`, an unmapped page below and above; lower ones that became free since the search began do not count.
    /// None: there are more areas to look at, by another call.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: there is no room.
    pub(super) fn room(&mut self, search: &mut Search, to: u64) -> Option<Result<u64, Error>> {
        let &mut Search { bytes, from, .. } = search;
        let below = self.by_start.range(..from).next_back();
        let mut start = below.map_or(from, |(_, below)| from.max(below.end + PAGE));
        let fits = |start: u64, limit: u64| {
            start
                .checked_add(bytes + PAGE)
                .is_some_and(|end| end <= limit)
        };
        for (n, (&at, area)) in self.by_start.range(from..).enumerate() {
            if at >= to || fits(start, at) {
                break;
            }
            if n == AT_ONCE {
                search.from = start;
                return None;
            }
            start = start.max(area.end + PAGE);
        }
        if bytes <= self.full.1 && search.removed == self.removed {
            self.full = (start, bytes)
        }
        Some(fits(start, to).then_some(start).ok_or(Error::OutOfMemory))
    }

    /// The caller has found that nothing is there.
    pub(super) fn insert(&mut self, start: u64, end: u64, mut area: Area) -> Result<(), Error> {
        let pages = (end - start) / PAGE;
        if self.mapped + pages > self.mapped_max {
            return Err(Error::OutOfMemory);
        }
        if self.by_start.len() >= limits::AREAS {
            return Err(Error::Limit);
        }
        area.end = end;
        self.mapped += pages;
        self.by_start.insert(start, area);
        Ok(())
    }

    /// The area that began at `start` is out.
    pub(super) fn remove(&mut self, start: u64) -> Area {
        let area = self
            .by_start
            .remove(&start)
            .expect("an area that was there");
        self.mapped -= (area.end - start) / PAGE;
        let below = self.by_start.range(..start).next_back();
        let room_from = below.map_or(0, |(_, below)| below.end);
        self.full.0 = self.full.0.min(room_from); // I-FULL
        self.removed += 1;
        area
    }

    /// Looks at some areas between the two: whether ring 3 has mapped any of them, and where to look on. What it cannot take out is
    /// there from the beginning, so nothing of the kind comes behind this look.
    ///
    /// # Errors
    /// [`Error::BadAddress`]: it cannot take out one of them.
    pub(super) fn look(&self, start: u64, end: u64) -> Result<(bool, Option<u64>), Error> {
        let (mut any, mut areas) = (false, self.within(start, end));
        for (_, area) in areas.by_ref().take(AT_ONCE) {
            match area.kind {
                _ if area.kept => return Err(Error::BadAddress),
                Kind::Going { .. } => {} // somebody else's
                _ => any = true,
            }
        }
        Ok((any, areas.next().map(|(&next, _)| next)))
    }

    /// Cuts what lies across the two, so that what is between them can go; the caller's number.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::OutOfMemory`]: no room for one more piece.
    pub(super) fn cut(&mut self, start: u64, end: u64) -> Result<u64, Error> {
        let pieces = usize::from(self.crosses(start)) + usize::from(self.crosses(end));
        if pieces > 0 && self.by_start.len() + pieces > limits::AREAS {
            return Err(Error::Limit);
        }
        if pieces > 0 && !machine::has_frames(1) {
            return Err(Error::OutOfMemory); // as in `Space::place`; whole areas can always go
        }
        self.split_at(start);
        self.split_at(end);
        self.callers += 1;
        Ok(self.callers)
    }

    /// The first area between the two that this caller can take out, or takes out already; else where to look on, `end` at the end.
    pub(super) fn first_of(&self, by: u64, start: u64, end: u64) -> Result<u64, u64> {
        for (n, (&at, area)) in self.by_start.range(start..end).enumerate() {
            let mine = match area.kind {
                Kind::Going { by: whose, .. } => whose == by,
                _ => area.end <= end, // what lies across is newer than the cut
            };
            if mine {
                return Ok(at);
            }
            if n == AT_ONCE {
                return Err(at);
            }
        }
        Err(end)
    }

    /// The area is from now on going: nobody can touch it any more, and its place is taken until it is removed. Its end, how far it is
    /// out, and whether its frames are shared.
    pub(super) fn going(&mut self, start: u64, by: u64) -> (u64, &mut u64, bool) {
        let area = self.by_start.get_mut(&start);
        let area = area.expect("an area that was there");
        let memory = match &area.kind {
            Kind::Shared { memory, .. } => Some(memory.clone()),
            _ => None,
        };
        if !matches!(area.kind, Kind::Going { .. }) {
            let next = start;
            area.kind = Kind::Going { by, next, memory }
        }
        match &mut area.kind {
            Kind::Going { next, memory, .. } => (area.end, next, memory.is_some()),
            _ => unreachable!("it is going"),
        }
    }

    /// Areas of which some page lies between the two.
    fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (&u64, &Area)> {
        let below = self.by_start.range(..start).next_back();
        let below = below.filter(move |(_, area)| area.end > start);
        below.into_iter().chain(self.by_start.range(start..end))
    }

    /// Does an area lie on both sides, one that is not going?
    fn crosses(&self, at: u64) -> bool {
        let below = self.by_start.range(..at).next_back();
        below.is_some_and(|(_, area)| area.end > at && !matches!(area.kind, Kind::Going { .. }))
    }

    /// No area crosses `at` afterwards, but one that is going.
    fn split_at(&mut self, at: u64) {
        if self.crosses(at)
            && let Some((&start, area)) = self.by_start.range_mut(..at).next_back()
        {
            let tail = area.split(start, at);
            self.by_start.insert(at, tail);
        }
    }
}
