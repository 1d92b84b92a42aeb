//! M: a CPU that runs Gs. One is pinned to each CPU and lives as long as the machine; M0 is the boot CPU's.
//!
//! Each M has a scheduler stack, g0, on which everything in `schedule.rs` runs. An M that holds no P is idle: it polls for
//! a moment and then halts its CPU until its wake word is set.
//!
//! ```text
//!   wake word:      stopm                    halt
//!        EMPTY ──────────────────► PARKED ─────────► (CPU halted)
//!          ▲                         │
//!          │  taken by stopm         │ notewakeup, and an interrupt, since it halts
//!          └─────────── NOTIFIED ◄───┘
//!                          ▲
//!                          └── notewakeup from EMPTY: no interrupt needed, stopm will see it
//! ```

use crate::bubble::InBubble;
use crate::g::{G, GRef};
use crate::metrics::{so_far, told};
use crate::p::P;
use crate::sched::Sched;
use base::PreemptGuard;
use base::shim::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use core::cell::UnsafeCell;
use core::sync::atomic as plain;

/// What an M counts. Written by the M alone; read by anybody, for reports: models need not see it.
pub struct MStats {
    /// Switches to a G.
    pub switches: plain::AtomicU64,
    /// Steals that found something, and Gs that they moved.
    pub steals: plain::AtomicU64,
    /// Gs that those steals moved.
    pub stolen: plain::AtomicU64,
    /// Gs that lost their CPU at the end of a slice.
    pub preemptions: plain::AtomicU64,
    /// Gs that gave way to one that was woken.
    pub gave_way: plain::AtomicU64,
    /// Safe points: injected calls and guards whose drop found work pending.
    pub safe_points: plain::AtomicU64,
    /// Times that it went idle without a P.
    pub stops: plain::AtomicU64,
    /// Times that its CPU halted.
    pub halts: plain::AtomicU64,
    /// Ms that it woke.
    pub wakes: plain::AtomicU64,
    /// Timers that it ran.
    pub timers: plain::AtomicU64,
    /// For how long its CPU halted, in ns, and since when it does so; 0: it does not.
    pub halted_ns: plain::AtomicU64,
    pub(crate) halted_since_ns: plain::AtomicU64,
    halted_told_ns: plain::AtomicU64,
}

impl MStats {
    fn new() -> Self {
        let z = || plain::AtomicU64::new(0);
        Self {
            switches: z(),
            steals: z(),
            stolen: z(),
            preemptions: z(),
            gave_way: z(),
            safe_points: z(),
            stops: z(),
            halts: z(),
            wakes: z(),
            timers: z(),
            halted_ns: plain::AtomicU64::new(0),
            halted_since_ns: plain::AtomicU64::new(0),
            halted_told_ns: plain::AtomicU64::new(0),
        }
    }
}

/// Raise a counter that one CPU alone writes.
#[inline]
pub(crate) fn count(c: &plain::AtomicU64) {
    c.store(c.load(Relaxed) + 1, Relaxed)
}

/// A machine: one CPU with its scheduler stack.
#[repr(align(128))]
pub struct M {
    id: u32,
    sched: AtomicPtr<Sched>,
    /// P that it holds; null when idle.
    pub(crate) p: AtomicPtr<P>,
    /// P that it held when its G began a blocking call (Go: `m.oldp`).
    oldp: AtomicPtr<P>,
    /// P that somebody hands to it while it is idle (Go: `m.nextp`).
    pub(crate) nextp: AtomicPtr<P>,
    /// Runnable Gs that are locked to this M and wait for it: `locked.rs`.
    pub(crate) tray_len: AtomicU32,
    /// G that it runs; null on g0.
    pub(crate) curg: AtomicPtr<G>,
    /// It looks for work and has none: counted in `nmspinning`.
    pub(crate) spinning: AtomicBool,
    /// The wake word, see above.
    pub(crate) park: AtomicU32,
    /// How to interrupt its CPU; set before it is first put on the idle list.
    pub(crate) cpu: UnsafeCell<Option<arch::CpuRef>>,
    /// When its CPU's next slice check is due, and the `schedtick` that the last one saw.
    pub(crate) next_tick_ns: plain::AtomicU64,
    pub(crate) tick_saw: plain::AtomicU32,
    /// The next G begins a slice of its own even if it comes from `runnext`: the one before was preempted.
    pub(crate) fresh_slice: plain::AtomicBool,
    /// It runs timers or serves devices: who is readied meanwhile was woken by the clock or a device.
    pub(crate) serving: plain::AtomicBool,
    /// The slice ended while the G was in a blocking call: it gives way when it comes back.
    pub(crate) over_in_call: plain::AtomicBool,
    /// The bubble whose timers they are.
    pub(crate) serving_bubble: InBubble,
    /// Runs from `runnext` in a row.
    pub(crate) chain: plain::AtomicU32,
    /// Its count of switches when it last looked at the other Ps although it had work: `schedule.rs`.
    pub(crate) looked_at_others: plain::AtomicU64,
    /// Gs that were made and that ended on this M: their difference over all Ms is how many exist.
    pub(crate) created: AtomicU64,
    pub(crate) ended: AtomicU64,
    /// Deadline for which its CPU's timer is armed; `u64::MAX`: not armed.
    pub(crate) armed_ns: plain::AtomicU64,
    /// When it last served its CPU's timer: what the runner's watchdog looks at.
    pub(crate) served_ns: plain::AtomicU64,
    /// Its CPU in models.
    #[cfg(ringo_loom)]
    pub(crate) bell: crate::models::Bell,
    /// Figures.
    pub stats: MStats,
}

// SAFETY: all but `cpu` is made of atomics; `cpu` is written once, before the M is first visible to others (under the
// scheduler's lock), and only read afterwards.
unsafe impl Sync for M {}
// SAFETY: as above.
unsafe impl Send for M {}

impl M {
    pub(crate) fn new(id: u32) -> Self {
        Self {
            id,
            sched: AtomicPtr::new(core::ptr::null_mut()),
            p: AtomicPtr::new(core::ptr::null_mut()),
            oldp: AtomicPtr::new(core::ptr::null_mut()),
            nextp: AtomicPtr::new(core::ptr::null_mut()),
            tray_len: AtomicU32::new(0),
            curg: AtomicPtr::new(core::ptr::null_mut()),
            spinning: AtomicBool::new(false),
            park: AtomicU32::new(0),
            cpu: UnsafeCell::new(None),
            next_tick_ns: plain::AtomicU64::new(0),
            tick_saw: plain::AtomicU32::new(0),
            fresh_slice: plain::AtomicBool::new(false),
            serving: plain::AtomicBool::new(false),
            over_in_call: plain::AtomicBool::new(false),
            serving_bubble: InBubble::none(),
            chain: plain::AtomicU32::new(0),
            looked_at_others: plain::AtomicU64::new(0),
            created: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            armed_ns: plain::AtomicU64::new(u64::MAX),
            served_ns: plain::AtomicU64::new(0),
            #[cfg(ringo_loom)]
            bell: crate::models::Bell::new(),
            stats: MStats::new(),
        }
    }

    pub(crate) fn set_sched(&self, s: &'static Sched) {
        self.sched.store(s as *const Sched as *mut Sched, Release)
    }

    /// The M of this CPU. The borrow ends with the guard: held over a point where the G could move, it would be
    /// somebody else's.
    #[inline]
    pub fn current(_on_this_cpu: &PreemptGuard) -> &M {
        #[cfg(not(ringo_loom))]
        let m = arch::m_ptr() as *const M;
        #[cfg(ringo_loom)]
        let m = crate::models::m_ptr();
        debug_assert!(!m.is_null(), "no M on this CPU");
        // SAFETY: set by `Sched::mstart` to an M that lives for ever.
        unsafe { &*m }
    }

    /// Its number, which is its CPU's.
    pub fn id(&self) -> usize {
        self.id as usize
    }

    /// Interrupt its CPU.
    pub(crate) fn interrupt(&self) {
        // SAFETY: set before the M first ran, not written since.
        if let Some(cpu) = unsafe { *self.cpu.get() } {
            arch::wake_cpu(cpu)
        }
    }

    /// The scheduler it belongs to.
    #[inline]
    pub fn sched(&self) -> &'static Sched {
        // SAFETY: set by `Sched::new` before anybody sees the M; schedulers live for ever.
        unsafe { &*self.sched.load(Relaxed) }
    }

    /// The P it holds.
    #[inline]
    pub fn p(&self) -> Option<&'static P> {
        // SAFETY: null or a P of the scheduler, which lives for ever.
        unsafe { self.p.load(Relaxed).as_ref() }
    }
    pub(crate) fn set_p(&self, p: Option<&'static P>) {
        self.p.store(ptr_of(p), Relaxed)
    }

    /// The P that it held when its G began a blocking call.
    pub(crate) fn oldp(&self) -> Option<&'static P> {
        // SAFETY: as in `p`.
        unsafe { self.oldp.load(Relaxed).as_ref() }
    }
    pub(crate) fn set_oldp(&self, p: &'static P) {
        self.oldp.store(ptr_of(Some(p)), Relaxed)
    }

    /// The P that was handed to it; taking it empties the field.
    pub(crate) fn take_nextp(&self) -> Option<&'static P> {
        // SAFETY: as in `p`. AcqRel: pairs with the store in `startm`.
        unsafe { self.nextp.swap(core::ptr::null_mut(), AcqRel).as_ref() }
    }

    /// Its CPU halts, from now on or no longer.
    #[cfg(not(ringo_loom))]
    pub(crate) fn halts(&self, begins: bool) {
        let (s, now_ns) = (&self.stats, arch::now_ns());
        if begins {
            return s.halted_since_ns.store(now_ns, Relaxed);
        }
        let ns = now_ns.saturating_sub(s.halted_since_ns.swap(0, Relaxed));
        core::sync::atomic::fence(SeqCst); // pairs with the one in `interrupt_busy`
        s.halted_ns.store(s.halted_ns.load(Relaxed) + ns, Relaxed)
    }

    /// Whether its CPU halts, or is about to and looks at nothing any more.
    #[cfg(not(ringo_loom))]
    pub fn is_halted(&self) -> bool {
        self.stats.halted_since_ns.load(Relaxed) != 0
    }

    /// For how long its CPU has halted by now.
    pub(crate) fn halted_so_far_ns(&self, now_ns: u64) -> u64 {
        let s = &self.stats;
        told(
            &s.halted_told_ns,
            so_far(&s.halted_since_ns, &s.halted_ns, now_ns),
        )
    }

    /// Does it wait on its wake word, or is it about to halt?
    pub(crate) fn is_parked(&self) -> bool {
        self.park.load(Relaxed) == crate::idle::PARKED
    }

    /// The G it runs.
    #[inline]
    pub fn curg(&self) -> Option<GRef> {
        // SAFETY: null or a G, never freed.
        unsafe { GRef::from_ptr(self.curg.load(Relaxed)) }
    }
}

/// The address of a P, null for none.
pub(crate) fn ptr_of(p: Option<&'static P>) -> *mut P {
    p.map_or(core::ptr::null_mut(), |p| p as *const P as *mut P)
}
