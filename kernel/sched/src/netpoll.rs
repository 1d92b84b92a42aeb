//! The netpoller, the scheduler's side: who asks the network what has come, and when (Go: netpoll.go, `netpoll`,
//! `netpollAnyWaiters`, `netpollAdjustWaiters`; proc.go, `injectglist`). How a G waits: `polldesc.rs`, `pollwait.rs`.
//!
//! ```text
//!   device ──interrupt──► pending bit of some CPU        (no code of the scheduler runs in the handler)
//!                             │
//!     busy: safe point ───────┤            on g0, by one M at a time (I-ONE-POLLER):
//!     idle: halt ends ────────┼──► asked ─► Poller::netpoll ─► Poller::listen ─► Gs that are ready: woken, as by the clock
//!     looks for work ─────────┤                  ▲                   │ something came meanwhile
//!     sysmon, after 10 ms ────┤                  └───────────────────┘
//!     the world starts again ─┘
//! ```
//!
//! Go's order of looks: timers, the own queue, the global queue, the network, the others' queues. An interrupt is served before
//! all of them, as a due timer is: the pending bit is looked at first.
//!
//! * **I-ONE-POLLER** At most one M is in the poller. Who finds it taken leaves `asked` behind, and whoever leaves the poller
//!   looks at that afterwards: nothing that came before the question is left lying there.
//! * **I-LISTEN** While nobody is in the poller, `asked` is set or the device will interrupt some CPU when something comes. So
//!   an M that halts need not look once more: what comes later sets its pending bit, or that of a CPU that is awake.
//! * **I-WAITERS** `waiters` is at least the number of Gs that wait on descriptors, and exactly that while nobody is on the way
//!   to or from one. It is raised before a G can be found and lowered by its waker (Go #60782: one that wrapped, or stayed).
//!
//! There is no `netpollBreak`: an M that waits for the network halts like any other idle one, and the wake word with its
//! interrupt (`idle.rs`) ends that halt, whatever it waits for. The protocols' next deadline is one of those that the
//! timekeeper is armed for (I-TIMEKEEPER); a busy CPU looks at it once a slice.
//!
//! `asked` counts as work that any M with a P can do: `wakep` and the looks of an M that goes idle see to it that one does it.
//! An M that has none of the Ps, and is interrupted, tells one that has.

use crate::m::M;
use crate::sched::Sched;
use crate::timers::NEVER;
use base::PreemptGuard;
use base::mutant::{mutant, order};
use base::shim::{AtomicBool, AtomicI32, Ordering::*};
use core::cell::UnsafeCell;
use core::sync::atomic as plain;

pub use crate::polldesc::{Mode, PollDesc, PollError};
pub use crate::readylist::ReadyList;

/// Without a look for so long, sysmon takes one (Go: proc.go, `sysmon`).
pub(crate) const LOOK_EVERY_NS: u64 = 10_000_000;
/// Rounds that one visit takes at most: others want the CPU too. More is done [`AGAIN_NS`] later.
const ROUNDS: u32 = 8;
/// When the next visit is due if the last one was cut short.
const AGAIN_NS: u64 = 100_000;

/// The network, as the scheduler sees it: the layer above fills this in once.
///
/// All functions but [`Poller::end`] are called with preemption off, and none of them waits.
pub trait Poller: Sync {
    /// Take what has come, run the protocols on it and their timers that are due, and name whoever can go on. By one M at a time,
    /// on g0.
    fn netpoll(&self, list: &mut ReadyList);

    /// From here on the device interrupts when something comes. True: something lies there already, and may have come
    /// too early for an interrupt, or there is more to do for which none will come. Called after each [`Poller::netpoll`].
    fn listen(&self) -> bool;

    /// When the earliest of the protocols' timers is due, by the machine's clock; [`NEVER`]: there is none.
    /// Called with the scheduler's lock held: it loads an atomic.
    fn next_deadline_ns(&self) -> u64;

    /// Can anything come that nobody on this machine has sent? If not, Gs that wait for the network alone, with no timer of the
    /// protocols set, wait for ever. Called with the scheduler's lock held: it loads an atomic.
    fn has_device(&self) -> bool {
        true
    }

    /// What it holds. Takes locks of the network's: called with none held.
    fn connections(&self) -> Connections {
        Connections::default()
    }

    /// The program ends in order: return when what it has sent has arrived, or after a bounded time. On the G that ends it.
    fn end(&self) {}
}

/// What the network holds, for the measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// TCP connections that take memory.
    pub open: u64,
    /// So many may.
    pub most: u64,
    /// Attempts, of others and our own, that found all places taken.
    pub turned_away: u64,
    /// Ended connections that are remembered (time-wait).
    pub remembered: u64,
}

/// What a scheduler keeps for it.
pub(crate) struct Netpoll {
    poller: UnsafeCell<Option<&'static dyn Poller>>,
    /// It is there. Plain: without one, nothing of this takes part in models.
    is_set: plain::AtomicBool,
    /// Somebody wants the poller visited.
    asked: AtomicBool,
    /// An M is in it.
    busy: AtomicBool,
    /// I-WAITERS.
    waiters: AtomicI32,
    /// When it was last visited, by the machine's clock (Go: `sched.lastpoll`).
    last_ns: plain::AtomicU64,
    /// Visits, and Gs that they made ready.
    polls: plain::AtomicU64,
    readied: plain::AtomicU64,
}

// SAFETY: `poller` is written once, before `is_set`, and only read after it (acquire); the rest is made of atomics.
unsafe impl Sync for Netpoll {}
// SAFETY: as above; a `Poller` may be used anywhere.
unsafe impl Send for Netpoll {}

impl Netpoll {
    pub(crate) fn new() -> Self {
        Self {
            poller: UnsafeCell::new(None),
            is_set: plain::AtomicBool::new(false),
            asked: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            waiters: AtomicI32::new(0),
            last_ns: plain::AtomicU64::new(0),
            polls: plain::AtomicU64::new(0),
            readied: plain::AtomicU64::new(0),
        }
    }

    #[inline]
    fn poller(&self) -> Option<&'static dyn Poller> {
        if !self.is_set.load(Acquire) {
            return None; // Acquire: pairs with the store in `set_poller`
        }
        // SAFETY: written before `is_set`, never again.
        unsafe { *self.poller.get() }
    }

    /// Is there one?
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Relaxed)
    }

    /// Does somebody want it visited, and nobody is there who will see that?
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.is_set() && self.asked.load(Relaxed) && !self.busy.load(Relaxed)
    }

    /// Somebody does.
    pub(crate) fn ask(&self) {
        if self.is_set() {
            self.asked.swap(true, AcqRel); // before `busy` is looked at: see `visit`
        }
    }

    /// A G is about to wait on a descriptor.
    pub(crate) fn waits(&self) {
        self.waiters.fetch_add(1, Relaxed);
    }
    /// `n` wait no longer.
    pub(crate) fn wait_no_longer(&self, n: u32) {
        if n != 0 && !mutant("poll_count_stays") {
            self.waiters.fetch_sub(n as i32, Relaxed);
        }
    }

    /// Visit it until nothing is left to ask, or for so many rounds; `asked` is set still in that case. False: another M is in it,
    /// which goes round once more.
    fn visit(&self, poller: &dyn Poller, list: &mut ReadyList) -> bool {
        let mut rounds = 0;
        // Both swaps acquire and release: what the one before did in the poller is seen; and who finds it taken has asked before,
        // which the one that leaves sees (I-ONE-POLLER).
        while !self.busy.swap(true, AcqRel) {
            while rounds < ROUNDS && self.asked.swap(false, AcqRel) {
                rounds += 1;
                poller.netpoll(list);
                if !mutant("poll_no_listen") && poller.listen() {
                    self.asked.swap(true, AcqRel);
                }
            }
            self.busy.swap(false, order("poll_leave_relaxed", AcqRel));
            if rounds >= ROUNDS || !self.asked.load(Relaxed) || mutant("poll_leaves_unasked") {
                return true;
            }
        }
        rounds != 0
    }
}

impl Sched {
    /// The network is there: from here on `poller` is asked what has come.
    ///
    /// # Panics
    /// If there is one already.
    pub fn set_poller(&'static self, poller: &'static dyn Poller) {
        let guard = PreemptGuard::new();
        let np = &self.netpoll;
        assert!(!np.is_set(), "a second poller");
        // SAFETY: nobody reads it before `is_set`; it is set once, at start-up.
        unsafe { *np.poller.get() = Some(poller) };
        np.is_set.store(true, Release); // pairs with the load in `poller`
        np.ask(); // I-LISTEN: the first visit
        if crate::INTERRUPTS {
            arch::raise_pending(arch::PENDING_DEVICE)
        }
        drop(guard)
    }

    /// Is there a network?
    pub fn has_poller(&self) -> bool {
        self.netpoll.is_set()
    }

    /// The program ends in order: waits, for a bounded time, until what it has sent has arrived ([`Poller::end`]).
    pub fn end_network(&self) {
        if let Some(poller) = self.netpoll.poller() {
            poller.end()
        }
    }

    /// A device has something, and says so by other means than an interrupt of its own: CPU `cpu` is interrupted, if it was
    /// started. From anywhere, also from threads that are no CPU of the host machine.
    pub fn device_interrupt(&self, cpu: usize) {
        self.netpoll.ask();
        #[cfg(not(ringo_loom))]
        self.allm[cpu].interrupt();
        #[cfg(ringo_loom)]
        self.allm[cpu].bell.ring()
    }

    /// There is something to do in the network of which no device tells: this CPU visits it at its next safe point, or another sooner.
    pub fn look_at_network(&self) {
        let guard = PreemptGuard::new();
        self.netpoll.ask();
        if crate::INTERRUPTS {
            arch::raise_pending(arch::PENDING_DEVICE)
        }
        drop(guard) // serves it, where that may be
    }

    /// Gs that wait on descriptors (Go: `netpollWaiters`): 0 at rest.
    pub fn netpoll_waiters(&self) -> u32 {
        self.netpoll.waiters.load(Relaxed).max(0) as u32
    }

    /// What the network holds; nothing if there is none.
    pub fn connections(&self) -> Connections {
        let poller = self.netpoll.poller();
        poller.map(Poller::connections).unwrap_or_default()
    }

    /// Visits to the poller, and Gs that they made ready.
    pub fn netpolls(&self) -> (u64, u64) {
        let np = &self.netpoll;
        (np.polls.load(Relaxed), np.readied.load(Relaxed))
    }

    /// Ask the network, and queue whoever can go on. How many. On g0.
    pub(crate) fn netpoll(&self, m: &M) -> u32 {
        let np = &self.netpoll;
        let Some(poller) = np.poller() else { return 0 };
        np.ask();
        let mut list = ReadyList::new();
        let looked = np.visit(poller, &mut list);
        let now_ns = clock_ns();
        if looked {
            np.last_ns.store(now_ns, Relaxed);
            np.polls.fetch_add(1, Relaxed);
        }
        let n = list.len();
        if n != 0 {
            np.readied.fetch_add(n.into(), Relaxed);
            trace::emit(trace::Kind::NetPoll, 0, n);
            m.serving.store(true, Relaxed);
            list.inject();
            m.serving.store(false, Relaxed)
        }
        if np.is_asked() {
            self.netpoll_again(m, now_ns)
        }
        n
    }

    /// The last visit was cut short, or somebody has asked since: the running G goes on for a moment.
    #[cold]
    pub(crate) fn netpoll_again(&self, m: &M, now_ns: u64) {
        match m.p() {
            Some(p) if crate::INTERRUPTS => {
                p.wakeup.look_again_by(now_ns + AGAIN_NS);
                self.arm(m, p)
            }
            Some(_) => {} // the next look for work finds it
            None => self.ask_netpoll(),
        }
    }

    /// In Go's place among the looks for work: is it worth a visit?
    #[inline]
    pub(crate) fn netpoll_may_bring(&self) -> bool {
        let np = &self.netpoll;
        np.is_set()
            && (np.waiters.load(Relaxed) != 0 && !np.busy.load(Relaxed)
                || self.protocols_are_due(clock_ns()))
    }

    /// Is a timer of the protocols due?
    pub(crate) fn protocols_are_due(&self, now_ns: u64) -> bool {
        let poller = self.netpoll.poller();
        poller.is_some_and(|p| p.next_deadline_ns() <= now_ns)
    }

    /// When an idle M is to look at the network by itself: for the protocols, and where busy CPUs are not interrupted, every
    /// 10 ms for one of them that may have been told by a device and does not look.
    pub(crate) fn netpoll_deadline_ns(&self) -> u64 {
        let Some(poller) = self.netpoll.poller() else {
            return NEVER;
        };
        let others_busy = self.npidle() < self.procs();
        let watch = !cfg!(ringo_loom) && !self.cpus_tick() && others_busy;
        let watch_ns = if watch && self.netpoll_waiters() != 0 {
            self.next_watch_ns()
        } else {
            NEVER
        };
        poller.next_deadline_ns().min(watch_ns)
    }

    fn next_watch_ns(&self) -> u64 {
        self.netpoll.last_ns.load(Relaxed) + LOOK_EVERY_NS
    }

    /// A G waits on a descriptor from here on: if its CPU may not look at the network for long, idle ones do.
    pub(crate) fn watch_network(&self) {
        if self.netpoll.is_set() && !cfg!(ringo_loom) {
            self.wake_to_look(self.next_watch_ns())
        }
    }

    /// sysmon: has nobody looked for 10 ms although somebody waits?
    pub(crate) fn netpoll_is_late(&self, now_ns: u64) -> bool {
        self.netpoll.is_set() && self.netpoll_waiters() != 0 && now_ns >= self.next_watch_ns()
    }

    /// See to it that an M with a P looks, from one that has none.
    pub(crate) fn ask_netpoll(&self) {
        self.netpoll.ask();
        self.wakep();
        // With an idle P and no idle M nobody was started.
        if self.nmspinning() == 0 {
            self.tell_busy()
        }
    }

    /// Nobody looks for work, and the network is to be looked at: interrupt an M that holds one.
    pub(crate) fn tell_busy(&self) {
        if let Some(m) = self.running_p().and_then(|p| p.holder()) {
            m.interrupt()
        }
    }

    /// Does a G wait for what may still come? Then it is no deadlock, and a clock that is not the machine's goes no faster than
    /// that one. With the scheduler's lock.
    pub(crate) fn network_may_wake(&self) -> bool {
        let poller = self.netpoll.poller();
        self.netpoll_waiters() != 0
            && poller.is_some_and(|p| p.has_device() || p.next_deadline_ns() != NEVER)
    }
}

/// The clock; models have none.
fn clock_ns() -> u64 {
    if cfg!(ringo_loom) { 0 } else { arch::now_ns() }
}
