//! G: a goroutine. Its stack pointer, its state, and why it waits.
//!
//! ```text
//!                    newproc                 execute
//!   dead ───────────────────────► runnable ───────────► running
//!    ▲                              ▲   ▲                 │ │ │
//!    │                      goready │   │ yield, preempt  │ │ │
//!    │                              │   └─────────────────┘ │ │
//!    │                           waiting ◄──────────────────┘ │
//!    │                                     gopark             │
//!    └────────────────────────────────────────────────────────┘
//!                                goexit0
//!
//!   running ◄── entersyscall, exitsyscall ──► syscall ── exitsyscall without a P ──► runnable
//! ```
//!
//! **I-STATE** Only these moves exist ([`GStatus::may_become`]); debug builds check each. A G is queued at most once, and
//! only while it is runnable.
//!
//! Dead Gs are used again; where very many are dead, some are given back (Go keeps all). So a [`GRef`] may be followed while
//! its G is not dead, and by those who find it by looking around, until their CPU's next flush point (`mem::flush`): what
//! it finds is a G, if perhaps a dead or another one.

mod status;

pub use status::{GStatus, WaitReason};

use crate::bubble::InBubble;
use crate::m::M;
use base::shim::{AtomicPtr, AtomicU32, Ordering::*};
use core::cell::UnsafeCell;
use core::ops::Deref;
use core::panic::Location;
use core::ptr::NonNull;
use core::sync::atomic as plain;

/// Called once when a G has ended (by return or `goexit`) and is already counted out. Runs on g0 with preemption off:
/// it may take locks, ready Gs and drop values; it must not park.
#[derive(Clone, Copy)]
pub struct ExitHook {
    /// The function.
    pub f: unsafe fn(usize),
    /// Its argument.
    pub arg: usize,
}

/// What a new G runs: a closure that lies at the top of its stack, and the function that calls it by value.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub call: unsafe fn(*mut u8),
    pub data: *mut u8,
}

/// A goroutine. Lies at the top of its own stack slot.
pub struct G {
    /// Saved stack pointer while it does not run.
    pub(crate) ctx: arch::Context,
    pub(crate) status: AtomicU32,
    /// Link of whatever single list it is on: a queue, or a free list (I-STATE: at most one).
    pub(crate) schedlink: AtomicPtr<G>,
    /// Lowest and highest stack pointer at which a call may be injected.
    pub(crate) window: (plain::AtomicUsize, plain::AtomicUsize),
    /// Top of the stack proper: below this struct.
    pub(crate) stack_top: plain::AtomicUsize,
    /// Stamp of the last trimming of its stack, 0: never. A CPU that has not flushed since must not run it before it has.
    pub(crate) trimmed: plain::AtomicU64,
    pub(crate) id: plain::AtomicU64,
    /// M that runs it, null otherwise: what a report names.
    pub(crate) m: AtomicPtr<M>,
    /// How often it stopped running, and since when it is runnable if that is measured: `metrics.rs`.
    pub(crate) leaves: plain::AtomicU32,
    pub(crate) runnable_since_ns: plain::AtomicU64,
    /// While it waits for a mutex: where the number of the goroutine is that has it. Null otherwise.
    lock_owner: plain::AtomicPtr<plain::AtomicU64>,
    /// When it began to wait, by its CPU's ticks.
    pub(crate) wait_since_ns: plain::AtomicU64,
    pub(crate) wait_reason: AtomicU32,
    /// M that it is locked to, and how often: `locked.rs`. Written by the G itself.
    pub(crate) lockedm: AtomicPtr<M>,
    pub(crate) lock_count: AtomicU32,
    /// The bubble that it is in, and whether it waits for something of it: `bubble.rs`.
    pub(crate) bubble: InBubble,
    pub(crate) durable: plain::AtomicBool,
    /// Panics of it whose messages are being put together, one inside the other.
    panics: plain::AtomicU8,
    /// Innermost open scope of the layer above, see [`G::scope_head`].
    scope_head: plain::AtomicUsize,
    pub(crate) parent: plain::AtomicU64,
    pub(crate) created_at: plain::AtomicPtr<Location<'static>>,
    /// Number of the last event about it (I-SEQ of `trace`). Plain data, so no atomic of the models.
    pub(crate) trace_seq: core::sync::atomic::AtomicU32,
    /// Next in the list of all Gs, which only grows. The bare machine finds them by their stacks.
    #[cfg(not(ringo_kernel))]
    pub(crate) alllink: AtomicPtr<G>,
    /// What wakes the thread that stands for it, in models of the layer above.
    #[cfg(ringo_loom)]
    pub(crate) bell: crate::models::Bell,
    pub(crate) entry: UnsafeCell<Option<Entry>>,
    pub(crate) hook: UnsafeCell<Option<ExitHook>>,
}

impl G {
    /// A G without a stack: state dead. The caller gives it one, or uses it as plain data (models, unit tests).
    pub fn new() -> Self {
        Self {
            ctx: arch::Context::new(),
            status: AtomicU32::new(GStatus::Dead as u32),
            schedlink: AtomicPtr::new(core::ptr::null_mut()),
            window: (plain::AtomicUsize::new(0), plain::AtomicUsize::new(0)),
            stack_top: plain::AtomicUsize::new(0),
            trimmed: plain::AtomicU64::new(0),
            id: plain::AtomicU64::new(0),
            m: AtomicPtr::new(core::ptr::null_mut()),
            wait_reason: AtomicU32::new(0),
            leaves: plain::AtomicU32::new(0),
            runnable_since_ns: plain::AtomicU64::new(0),
            lock_owner: plain::AtomicPtr::new(core::ptr::null_mut()),
            wait_since_ns: plain::AtomicU64::new(0),
            lockedm: AtomicPtr::new(core::ptr::null_mut()),
            lock_count: AtomicU32::new(0),
            bubble: InBubble::none(),
            durable: plain::AtomicBool::new(false),
            panics: plain::AtomicU8::new(0),
            scope_head: plain::AtomicUsize::new(0),
            parent: plain::AtomicU64::new(0),
            created_at: plain::AtomicPtr::new(core::ptr::null_mut()),
            trace_seq: core::sync::atomic::AtomicU32::new(0),
            #[cfg(not(ringo_kernel))]
            alllink: AtomicPtr::new(core::ptr::null_mut()),
            #[cfg(ringo_loom)]
            bell: crate::models::Bell::new(),
            entry: UnsafeCell::new(None),
            hook: UnsafeCell::new(None),
        }
    }

    /// Its number: 1 is the main goroutine. Never used twice.
    pub fn id(&self) -> u64 {
        self.id.load(Relaxed)
    }
    /// Name the G. For its creator.
    pub fn set_id(&self, id: u64) {
        self.id.store(id, Relaxed)
    }

    /// State at some instant.
    pub fn status(&self) -> GStatus {
        GStatus::from_u32(self.status.load(Acquire))
    }

    /// Move from one state to another (Go: `casgstatus`). The caller owns the G in state `from`: it runs it, dequeued
    /// it, or is the one waker that its wait list named. So a plain store serves; debug builds check that it was true.
    #[inline]
    pub(crate) fn set_status(&self, from: GStatus, to: GStatus) {
        if cfg!(debug_assertions) {
            assert!(
                from.may_become(to),
                "G {}: no move from {from:?} to {to:?}",
                self.id()
            );
            let was = self.status.swap(to as u32, AcqRel);
            assert!(
                was == from as u32,
                "G {}: is {was}, not {from:?}, on its way to {to:?}",
                self.id()
            );
        } else {
            self.status.store(to as u32, Release);
        }
    }

    /// Record an event about it. By its owner (I-STATE), so the events of a G are numbered in their order (I-SEQ of
    /// `trace`).
    #[inline]
    pub(crate) fn traced(&self, kind: trace::Kind, arg: u32) {
        if trace::is_on() {
            let seq = self.trace_seq.load(Relaxed).wrapping_add(1);
            self.trace_seq.store(seq, Relaxed);
            trace::record(kind, self.id(), arg, seq)
        }
    }

    /// Why it waits; meaningful in state waiting.
    pub fn wait(&self) -> WaitReason {
        let n = self.wait_reason.load(Relaxed) as usize;
        WaitReason::ALL.get(n).copied().unwrap_or(WaitReason::None)
    }

    /// Number of the goroutine that has the mutex for which this one waits; 0: none, or not known.
    ///
    /// Right while the G waits, at most until it is readied.
    pub fn lock_owner(&self) -> u64 {
        let word = self.lock_owner.load(Relaxed);
        // SAFETY: null, or in a mutex on which the G waits (`wait_for_owner`).
        unsafe { word.as_ref() }.map_or(0, |owner| owner.load(Relaxed))
    }

    /// From here on the G waits for a mutex; `None`: no longer. For reports.
    ///
    /// # Safety
    /// The calling G is this one, and the mutex stays until the next call.
    pub unsafe fn wait_for_owner(&self, owner: Option<&plain::AtomicU64>) {
        let word = owner.map_or(core::ptr::null_mut(), |o| core::ptr::from_ref(o).cast_mut());
        self.lock_owner.store(word, Relaxed)
    }

    /// A panic of the running G begins: how many of it have begun and not ended, which means that this one is in the message of
    /// the one before. None ends but with the machine.
    pub fn begin_panic(&self) -> u8 {
        let before = self.panics();
        self.panics.store(before.saturating_add(1), Relaxed); // the G's own
        before
    }

    /// Panics of it that have begun.
    pub fn panics(&self) -> u8 {
        self.panics.load(Relaxed)
    }

    /// Address of the innermost of the structured scopes that the G is inside of, 0 for none. It lies on the G's own stack.
    pub fn scope_head(&self) -> usize {
        self.scope_head.load(Relaxed)
    }

    /// Set [`Self::scope_head`].
    ///
    /// # Safety
    /// The calling G is this one, and `head` is what the layer that follows it will find: its own record, or 0.
    pub unsafe fn set_scope_head(&self, head: usize) {
        self.scope_head.store(head, Relaxed)
    }

    pub(crate) fn set_wait_reason(&self, r: WaitReason) {
        self.wait_reason.store(r as u32, Relaxed)
    }

    /// Where `go` was called, if anybody said so, and by which G.
    pub fn creator(&self) -> (Option<&'static Location<'static>>, u64) {
        let p = self.created_at.load(Relaxed);
        // SAFETY: only ever null or a `&'static Location` (newproc).
        (
            unsafe { p.as_ref() }.map(|l| l as &'static Location<'static>),
            self.parent.load(Relaxed),
        )
    }

    /// Stack pointer as it was saved; meaningful while the G does not run. For reports.
    pub fn saved_context(&self) -> &arch::Context {
        &self.ctx
    }
    /// CPU that runs it.
    pub fn cpu(&self) -> Option<usize> {
        // SAFETY: null or an M, which lives for ever.
        unsafe { self.m.load(Relaxed).as_ref() }.map(M::id)
    }
    /// Top of the stack, for reports.
    pub fn stack_top(&self) -> usize {
        self.stack_top.load(Relaxed)
    }
}

impl Default for G {
    fn default() -> Self {
        Self::new()
    }
}

/// A reference to a G that may be copied, and kept while the G is not dead (see above).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GRef(NonNull<G>);

// SAFETY: a G's fields are atomics, but for `ctx`, `entry` and `hook`, which only its owner in the sense of I-STATE
// touches (the M that runs it, or its creator before it is queued).
unsafe impl Send for GRef {}
// SAFETY: as above.
unsafe impl Sync for GRef {}

impl GRef {
    /// From a pointer out of a queue or a machine register; null is `None`.
    ///
    /// # Safety
    /// `p` is null or points to a G that stays for as long as the result is followed.
    #[inline]
    pub unsafe fn from_ptr(p: *mut G) -> Option<Self> {
        NonNull::new(p).map(Self)
    }
    /// From a G that lives for ever.
    pub fn new(g: &'static G) -> Self {
        Self(NonNull::from(g))
    }
    /// The address, for queues.
    #[inline]
    pub fn as_ptr(self) -> *mut G {
        self.0.as_ptr()
    }
}

impl Deref for GRef {
    type Target = G;
    #[inline]
    fn deref(&self) -> &G {
        // SAFETY: the G is not dead, or its memory stays until the next flush point (see the type).
        unsafe { self.0.as_ref() }
    }
}

impl core::fmt::Debug for GRef {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "G{}", self.id())
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "no move")]
    fn wrong_move_is_caught() {
        G::new().set_status(GStatus::Dead, GStatus::Waiting)
    }
}
