//! Stacks of the bare machine: slots of the stack window.

use super::*;
use crate::slots::{self, Notes, Slots};
use crate::{flush, frames};
use arch::bare;
use base::PreemptGuard;
use base::lock::{Rank, SpinLock};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// Bytes of the window that `arch` keeps for stacks.
const WINDOW_BYTES: usize = 512 << 30;

struct All {
    /// Slots that exist.
    count: usize,
    released: Slots,
}
/// The lock makes creation one caller at a time.
static SLOTS: SpinLock<All> = SpinLock::new(
    Rank::Stack,
    All {
        count: 0,
        released: Slots::new(),
    },
);
/// Slots on their way back, for readers without the lock.
static RELEASED: AtomicU32 = AtomicU32::new(0);
/// Slots that exist, likewise.
static SLOT_COUNT: AtomicUsize = AtomicUsize::new(0);
static SLOT_BYTES: AtomicUsize = AtomicUsize::new(SLOT_BYTES_DEFAULT);
/// Frames that a G can make its CPU's reserve give: a slot without its guard and its topmost page.
static RESERVE_WANTED: AtomicUsize = AtomicUsize::new(SLOT_BYTES_DEFAULT / PAGE_BYTES - 1);

/// Sets the size of all slots, in bytes.
///
/// # Panics
/// If the size is no power of two from 16 KiB to 1 MiB, or a slot exists already.
pub fn init(slot_bytes: usize) {
    check_slot_bytes(slot_bytes);
    let slots = SLOTS.lock();
    assert_eq!(
        slots.count, 0,
        "the size of stack slots is set after the first slot was made"
    );
    SLOT_BYTES.store(slot_bytes, Relaxed);
    RESERVE_WANTED.store(slot_bytes / PAGE_BYTES - 1, Relaxed);
    // SAFETY: no slot exists, and the lock keeps others out.
    unsafe { bare::set_stack_slot_bytes(slot_bytes) };
}

/// Bytes of a slot, the pages that a G may not use among them.
pub fn slot_bytes() -> usize {
    SLOT_BYTES.load(Relaxed)
}

/// Frames that are left for the growth of stacks: each CPU can need a whole slot's pages for the G that it runs.
/// Neither new stacks nor the heap take them, so that memory ends with an error of who asked for more, not with a
/// stack that cannot grow.
pub(crate) fn kept_frames() -> u64 {
    (arch::num_cpus() * (slot_bytes() / PAGE_BYTES)) as u64
}

/// Slots that a new stack helps on their way: who makes many quickly shall find old ones.
const HELP: u32 = 4;

/// A stack, its topmost page backed. Readers find its G after [`list()`].
///
/// # Errors
/// [`OutOfMemory`] if the window is full, or the frames left are those that the Gs which exist may still want.
pub fn alloc() -> Result<GStack, OutOfMemory> {
    if has_released() {
        sweep(HELP);
    }
    create().or_else(|_| {
        flush::reclaim();
        create()
    })
}

fn create() -> Result<GStack, OutOfMemory> {
    let bytes = slot_bytes();
    let frame = frames::alloc_above(kept_frames()).ok_or(OutOfMemory)?;
    let mut slots = SLOTS.lock();
    let old = slots.released.take(&Guards);
    let slot = old.map_or(slots.count, |slot| slot as usize);
    let fits = (slot + 1) * bytes <= WINDOW_BYTES;
    // SAFETY: the next slot in order, under the lock, or one that no TLB remembers; the frame is ours.
    if !fits || unsafe { bare::stack_slot_create(slot, frame, &mut frames::alloc) }.is_err() {
        // SAFETY: just handed out, mapped nowhere.
        unsafe { frames::free(frame) };
        return Err(OutOfMemory);
    }
    if old.is_none() {
        slots.count = slot + 1;
        SLOT_COUNT.store(slot + 1, Release); // pairs with the load in `for_each_listed`: the slot's tables exist
    }
    let base = bare::STACK_BASE as usize + slot * bytes;
    Ok(GStack {
        lo: base + 2 * PAGE_BYTES,
        top: base + bytes,
        slot: slot as u32,
    })
}

/// The notes of slots lie in the entries of their guard pages.
struct Guards;
impl Notes for Guards {
    fn get(&self, slot: u32) -> u64 {
        bare::stack_slot_note(slot as usize)
    }
    fn set(&self, slot: u32, note: u64) {
        bare::set_stack_slot_note(slot as usize, note)
    }
}

/// The G of a new stack is there: readers may find it.
pub fn list(stack: &GStack) {
    Guards.set(stack.slot, slots::LISTED)
}

/// Calls `f` with the top of each stack whose G may be looked at, oldest slots first. What `f` finds there may be used
/// until it returns; after that the slot may be given back. Takes no lock: for reports.
pub fn for_each_listed(mut f: impl FnMut(usize)) {
    let bytes = slot_bytes();
    for slot in 0..SLOT_COUNT.load(Acquire) {
        // While it is held this CPU comes to no flush point, so a G that was just released is still there.
        let _guard = PreemptGuard::new();
        if bare::stack_slot_note(slot) == slots::LISTED {
            f(bare::STACK_BASE as usize + (slot + 1) * bytes);
        }
    }
}

/// Where the runner finds all stacks, from outside.
#[derive(Clone, Copy, Debug)]
pub struct Glass {
    /// Address of the first slot.
    pub first: u64,
    /// Bytes of a slot.
    pub bytes: u64,
    /// Address of the number of slots that exist.
    pub count_at: u64,
}

/// See [`Glass`]. Good once [`init`] was called.
pub fn glass() -> Glass {
    Glass {
        first: bare::STACK_BASE,
        bytes: slot_bytes() as u64,
        count_at: (&raw const SLOT_COUNT).addr() as u64,
    }
}

/// Whether slots are on their way back.
#[inline]
pub(crate) fn has_released() -> bool {
    RELEASED.load(Relaxed) != 0
}

/// Moves slots on that are on their way back, and unmaps at most `budget` of them. True: more could be unmapped at once.
pub(crate) fn sweep(budget: u32) -> bool {
    let Some(mut slots) = SLOTS.try_lock() else {
        return false; // somebody else does it
    };
    let mut chain = frames::Chain::new();
    let more = slots.released.step(&Guards, &flush::Clock, budget, |slot| {
        // SAFETY: its G is dead and was taken off all lists before all CPUs passed a flush point.
        unsafe { bare::stack_slot_trim(slot as usize, true, &mut |frame| chain.push(frame)) }
    });
    RELEASED.store(slots.released.pending(), Relaxed);
    flush::hold(chain);
    more
}

/// To be called on g0 before a G is resumed: this CPU's reserve then has the pages for any growth of one slot, and the
/// CPU has forgotten the pages that were taken from the G's stack ([`Trim::finish`] gave the stamp; 0: none).
#[inline]
pub fn before_execute(stamp: u64) {
    flush::not_behind(stamp);
    let wanted = RESERVE_WANTED.load(Relaxed);
    let have = bare::reserve_len();
    if have < wanted {
        refill(wanted - have);
    }
}

#[cold]
#[inline(never)]
fn refill(missing: usize) {
    // SAFETY: on g0, says `before_execute`: a fully backed stack, so no fault takes from the reserve meanwhile.
    frames::alloc_many(missing, |frame| unsafe { bare::reserve_push(frame) });
}

/// Gives back what dead Gs have touched of their stacks, below their top pages. For many at a time.
pub struct Trim {
    chain: frames::Chain,
}

impl Default for Trim {
    fn default() -> Self {
        Self::new()
    }
}

impl Trim {
    /// Nothing so far.
    pub const fn new() -> Self {
        Self {
            chain: frames::Chain::new(),
        }
    }

    /// Trims the stack in which `address` lies, between the guard and the topmost page.
    ///
    /// # Safety
    /// Its G is dead and the caller's; it is run again only after [`before_execute`] with the stamp that
    /// [`Trim::finish`] gives. On g0, preemption off.
    pub unsafe fn stack(&mut self, address: usize) {
        let (chain, slot) = (&mut self.chain, slot_at(address));
        // SAFETY: as the caller promises; quarantine keeps the frames until all CPUs have flushed.
        unsafe { bare::stack_slot_trim(slot, false, &mut |frame| chain.push(frame)) };
    }

    /// Gives back the whole stack in which `address` lies, and the G on it. It stays where it is until each CPU has passed
    /// a flush point.
    ///
    /// # Safety
    /// Its G is dead, the caller's, and on no list. On g0, preemption off.
    pub unsafe fn release(&mut self, address: usize) {
        let mut slots = SLOTS.lock();
        slots.released.release(&Guards, slot_at(address) as u32);
        RELEASED.store(slots.released.pending(), Relaxed);
    }

    /// The stamp of the stacks that were trimmed; 0 if nothing was taken from them.
    pub fn finish(self) -> u64 {
        if self.chain.count() == 0 {
            return 0;
        }
        let stamp = flush::stamp();
        flush::hold(self.chain);
        stamp
    }
}

fn slot_at(address: usize) -> usize {
    (address - bare::STACK_BASE as usize) / slot_bytes()
}

/// Number of the slot in which an address lies, its guard page included. Takes no lock: for reports.
pub fn slot_of(address: usize) -> Option<u32> {
    let offset = address.checked_sub(bare::STACK_BASE as usize)?;
    let slot = offset / slot_bytes();
    (slot < SLOT_COUNT.load(Relaxed)).then_some(slot as u32)
}
