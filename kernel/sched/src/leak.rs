//! Goroutines that can never run again, although the program goes on (Go 1.26: the goroutine-leak profile).
//!
//! Deadlock detection sees that nobody can go on; this finds those that cannot while others do. A waiting G runs again only
//! if somebody makes it ready, and whoever does that has a pointer to it: into its stack, where it and the entries that it
//! left on wait lists lie. So a G that nobody can reach waits for ever. Who may reach it is found as a garbage collector
//! would, by following pointers from what runs: `leak/reach.rs`. Of one that waits for a mutex more is known: only the
//! owner can make it ready.
//!
//! ```text
//!   waits for                                     runs again if
//!   nothing (nil channel, select without cases)   never
//!   the clock, the network, a stop of the world   always
//!   a mutex whose owner is known                  the owner runs again
//!   anything else                                 memory that somebody who runs can reach points to its stack
//! ```
//!
//! **Certain** are those that cannot run by these rules. Types are not known, so a number that looks like a pointer is one,
//! and what was left behind in a frame counts: a leak may be missed, but nobody who could run is called certain.
//! **Suspect** are those that wait for longer than a given time for something that somebody could still bring about.

use crate::dump::GInfo;
use crate::g::{GRef, GStatus, WaitReason};
use crate::sched::Sched;

extern crate alloc;
use alloc::vec::Vec;

#[cfg(ringo_kernel)]
mod reach;

/// Frames of each leak that are kept.
pub const FRAMES: usize = 8;

/// Why a G is in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It waits for what never comes: a nil channel, a `select` without cases.
    NeverComes,
    /// It waits for a mutex of this goroutine, which cannot run again itself; perhaps it is its own.
    LockOf(u64),
    /// It waits for a mutex of this goroutine, which has ended.
    LockOfEnded(u64),
    /// Nobody that can run has what it waits for.
    Unreachable,
    /// It has waited for long.
    LongWait,
}

/// One goroutine of the report.
#[derive(Clone, Copy, Debug)]
pub struct Leak {
    /// Which one, what it waits for, where it comes from.
    pub g: GInfo,
    /// Why it is here.
    pub why: Why,
    /// Return addresses, the innermost first; 0 from the last one on.
    pub frames: [usize; FRAMES],
}

/// What a look for leaks has found.
#[derive(Clone, Debug, Default)]
pub struct Leaks {
    /// Those that never run again, by number.
    pub certain: Vec<Leak>,
    /// Those that have waited for longer than asked for, by number.
    pub suspect: Vec<Leak>,
    /// Why there may be more certain ones than were found.
    pub limit: Option<&'static str>,
}

/// What is known of a G during the look.
pub(crate) struct Entry {
    pub g: GRef,
    pub id: u64,
    pub kind: Kind,
    pub live: bool,
    #[cfg(ringo_kernel)]
    pub stack: reach::Stack,
}

/// On what it depends whether a G runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It does, or will by itself.
    Runs,
    Never,
    Owner(u64),
    Pointers,
}

impl Kind {
    /// By what is known of a G; if the owner of its lock is not, somebody who can be reached may have that lock.
    fn of(status: GStatus, wait: WaitReason, lock_owner: impl FnOnce() -> u64) -> Self {
        use WaitReason::*;
        match (status, wait) {
            (GStatus::Waiting, ChanReceiveNil | ChanSendNil | SelectNoCases) => Self::Never,
            (GStatus::Waiting, Sleep | StoppingTheWorld | ProgramExit | IoWait) => Self::Runs,
            (GStatus::Waiting, SyncMutexLock) => match lock_owner() {
                0 => Self::Pointers,
                owner => Self::Owner(owner),
            },
            (GStatus::Waiting, _) => Self::Pointers,
            _ => Self::Runs,
        }
    }
}

/// Room for so many, or none at all if memory is short: the report is not worth the program's end.
fn room<T>(n: usize) -> Vec<T> {
    let mut list = Vec::new();
    let _ = list.try_reserve_exact(n);
    list
}

/// All Gs at one instant, by their stacks (`for_each_g` goes by them), and their places by number.
pub(crate) struct Entries {
    pub all: Vec<Entry>,
    pub by_id: Vec<(u64, u32)>,
}

impl Entries {
    fn with_capacity(n: usize) -> Self {
        Self {
            all: room(n),
            by_id: room(n),
        }
    }

    /// The world stands still. False: there are more than there is room for.
    fn collect(&mut self, s: &Sched) -> bool {
        let mut fits = true;
        s.for_each_g(|g| {
            if g.status() == GStatus::Dead {
                return;
            }
            fits &= self.all.len() < self.all.capacity();
            if fits {
                self.all.push(Entry::of(g))
            }
        });
        if !fits || self.by_id.capacity() < self.all.len() {
            return false;
        }
        let ids = self.all.iter().enumerate();
        self.by_id.extend(ids.map(|(i, e)| (e.id, i as u32)));
        self.by_id.sort_unstable();
        true
    }

    pub fn find(&self, id: u64) -> Option<usize> {
        let at = self.by_id.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.by_id[at].1 as usize)
    }

    /// Those whose owner lives, live. True: somebody new does.
    pub fn owners(&mut self) -> bool {
        let mut news = false;
        for i in 0..self.all.len() {
            let e = &self.all[i];
            if let (false, Kind::Owner(owner)) = (e.live, e.kind)
                && self.find(owner).is_some_and(|o| self.all[o].live)
            {
                self.all[i].live = true;
                news = true
            }
        }
        news
    }

    fn why(&self, e: &Entry) -> Why {
        match e.kind {
            Kind::Never => Why::NeverComes,
            Kind::Owner(owner) if self.find(owner).is_none() => Why::LockOfEnded(owner),
            Kind::Owner(owner) => Why::LockOf(owner),
            Kind::Runs | Kind::Pointers => Why::Unreachable,
        }
    }
}

/// The lists may lie in memory that is looked at another time: nothing in them is to look like a pointer that somebody has.
impl Drop for Entries {
    fn drop(&mut self) {
        wipe(&mut self.all)
    }
}

/// Empties a list and its memory.
fn wipe<T>(list: &mut Vec<T>) {
    list.clear();
    for byte in list.spare_capacity_mut() {
        *byte = core::mem::MaybeUninit::zeroed()
    }
    // Not left out, although nobody reads it.
    core::hint::black_box(list.as_ptr());
}

impl Entry {
    /// The world stands still.
    fn of(g: GRef) -> Self {
        let kind = Kind::of(g.status(), g.wait(), || g.lock_owner());
        Self {
            g,
            id: g.id(),
            kind,
            live: kind == Kind::Runs,
            #[cfg(ringo_kernel)]
            stack: reach::Stack::of(g),
        }
    }
}

impl Sched {
    /// Look for leaks: stops the world for about a millisecond for each megabyte of memory in use. `suspect_ns`: who has
    /// waited for longer, other than for the clock, is suspect. `frames` fills in the frames of a G that does not run.
    #[inline(never)]
    pub fn leaks(&'static self, suspect_ns: u64, frames: fn(GRef, &mut [usize; FRAMES])) -> Leaks {
        let n = self.num_goroutine() as usize * 5 / 4 + 64;
        let mut entries = Entries::with_capacity(n);
        let mut found = Leaks {
            certain: room(n),
            suspect: room(n),
            limit: None,
        };
        #[cfg(ringo_kernel)]
        let mut reach = reach::Reach::new();
        let stood = self.look_with_world_stopped(|_| {
            if !entries.collect(self) {
                found.limit = Some("there was no room to list all goroutines");
                return;
            }
            #[cfg(ringo_kernel)]
            {
                found.limit = reach.mark(
                    self,
                    &mut entries,
                    &[address_range(&found.certain), address_range(&found.suspect)],
                );
            }
            #[cfg(not(ringo_kernel))]
            {
                found.limit = Some("on the host machine pointers are not followed");
            }
            if found.limit.is_some() {
                // Who can be reached is not known: everybody may be.
                let all = entries.all.iter_mut();
                all.filter(|e| e.kind == Kind::Pointers)
                    .for_each(|e| e.live = true);
                while entries.owners() {}
            }
            found.take(&entries, suspect_ns, frames)
        });
        if stood.is_none() {
            found.while_others_run(self, suspect_ns)
        }
        found
    }
}

impl Leaks {
    /// Somebody never gives way, so nothing stands still long enough to follow pointers, owners or frames. Who waits for
    /// nothing does so for ever, and how long the others have waited can be said all the same.
    #[cold]
    fn while_others_run(&mut self, s: &Sched, suspect_ns: u64) {
        self.limit = Some(
            "a goroutine that cannot be interrupted kept its CPU for a second, so who can be reached is not known, nor any frame",
        );
        // Nothing of a G is kept beyond the call: it may be gone then.
        s.for_each_g(|g| {
            let Some(g) = GInfo::while_others_run(g) else {
                return;
            };
            let (list, why) = match Kind::of(g.status, g.wait, || 0) {
                Kind::Never => (&mut self.certain, Why::NeverComes),
                Kind::Pointers if g.waited_ns >= suspect_ns => (&mut self.suspect, Why::LongWait),
                _ => return,
            };
            if list.len() < list.capacity() {
                list.push(Leak {
                    g,
                    why,
                    frames: [0; FRAMES],
                })
            }
        });
        self.certain.sort_unstable_by_key(|leak| leak.g.id);
        self.suspect.sort_unstable_by_key(|leak| leak.g.id);
    }

    /// The world stands still.
    fn take(&mut self, entries: &Entries, suspect_ns: u64, frames: fn(GRef, &mut [usize; FRAMES])) {
        for &(_, i) in &entries.by_id {
            let e = &entries.all[i as usize];
            let g = GInfo::of(e.g);
            let waits = matches!(e.kind, Kind::Pointers | Kind::Owner(_));
            let mut leak = Leak {
                g,
                why: Why::LongWait,
                frames: [0; FRAMES],
            };
            let list = if !e.live {
                leak.why = entries.why(e);
                &mut self.certain
            } else if waits && g.waited_ns >= suspect_ns {
                &mut self.suspect
            } else {
                continue;
            };
            frames(e.g, &mut leak.frames);
            if list.len() < list.capacity() {
                list.push(leak)
            }
        }
    }
}

/// Where a list's memory lies.
#[cfg(ringo_kernel)]
pub(crate) fn address_range<T>(v: &Vec<T>) -> core::ops::Range<usize> {
    let start = v.as_ptr() as usize;
    start..start + v.capacity() * size_of::<T>()
}
