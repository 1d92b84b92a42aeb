//! A timer that can be stopped and set anew (Go: time.go, `timer`, `stop`, `modify`, `unlockAndRun`).
//!
//! Its heap entry is lazy: stopping leaves a *stale* entry behind, setting it later leaves the entry where it is, and only
//! setting it earlier makes a new one. Whoever meets the entry puts it right.
//!
//! ```text
//!                       start, reset                        due, no period
//!   not set ───────────────────────────► entry n in a heap ─────────────────► not set, fired
//!     ▲                                    │   │  ▲
//!     │   stop: entry n is stale           │   │  │ due, but was set later, or has a period: the entry goes back
//!     └────────────────────────────────────┘   └──┘
//! ```
//!
//! A timer that fires again and again and whose tick nobody has taken *rests*: it has no entry, so that it wakes no CPU and hides
//! no deadlock, until somebody takes the tick (Go 1.23 goes further: a channel's timer is in a heap only while a G waits there).
//!
//! **I-REST** Who takes the tick of a resting timer calls `tick_taken` afterwards: a timer rests only while a tick lies there, or
//! its taker is on the way. Whether it rests is decided under the lock that `tick_taken` takes.
//!
//! **I-END** No entry is for [`NEVER`]: a clock that jumps could neither get there nor see that nothing else is left.
//!
//! **I-ENTRY** At most one entry of a timer is not stale: the one whose number `entry` holds. It changes under the
//! timer's lock.
//!
//! **I-HOME** The heap that `set.heap` names is the one that has the living entry, or from which it was just taken: it changes under
//! the timer's lock, before the entry is in another heap.
//!
//! The lock is held while the timer fires, so after `stop` or `reset` nothing of what was before comes any more (Go
//! 1.23's rules).

use crate::bubble::Bubble;
use crate::m::M;
use crate::p::P;
use crate::timers::{NEVER, Timers};
use base::mutant::mutant;
use base::shim::{AtomicU64, Ordering::*};
use base::{PreemptGuard, Rank, SpinGuard, SpinLock};

extern crate alloc;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// What a timer does.
pub trait Fire: Send + Sync {
    /// It is due. Called with preemption off and the timer locked, on g0 or by a G that has it fire: may send without waiting, ready Gs and start
    /// some, must not park nor touch the timer. False: the last time was not noticed yet, and this one is lost; there is no
    /// point in another before [`Timer::tick_taken`].
    fn fire(&self, now_ns: u64) -> bool;

    /// Take back what was sent and not received; true if there was something. Called with the timer locked.
    fn take_back(&self) -> bool {
        false
    }

    /// Would anybody be woken by it now?
    fn can_wake(&self) -> bool {
        true
    }

    /// It is set, and nobody is left who could set it again: the next time it fires is the last one. Called with the timer
    /// locked.
    fn fires_last(&self) {}

    /// It is not set, and nobody is left who could set it: let go of what it holds, unless that is still to run.
    fn give_up(&self) {}

    /// Does dropping it run code of the program, which might park? Then a goroutine does it.
    fn drops_foreign(&self) -> bool {
        false
    }
}

/// A timer.
pub struct Timer {
    set: SpinLock<Set>,
    /// Number of its living entry, 0: none (I-ENTRY).
    entry: AtomicU64,
    /// Made in a bubble, whose clock it goes by; else by that of the program, whoever sets it.
    in_bubble: bool,
    fire: Box<dyn Fire>,
}

/// Whose heap holds its entry.
enum Home {
    P(&'static Timers),
    Bubble(Arc<Bubble>),
}

impl Home {
    fn timers(&self) -> &Timers {
        match self {
            Home::P(timers) => timers,
            Home::Bubble(b) => &b.timers,
        }
    }
}

/// How it is set.
pub(crate) struct Set {
    when_ns: u64,
    /// 0: fires once.
    period_ns: u64,
    /// Deadline of its living entry: at most `when_ns`.
    entry_when_ns: u64,
    /// Heap that the entry was put into.
    heap: Option<Home>,
    entries: u64,
    /// I-REST: `when_ns` is that of the next beat.
    rests: bool,
}

impl Set {
    /// To the first beat after `now_ns`: those that were missed are left out, the others keep their time. One that is out of the
    /// clock's range never comes (I-END).
    fn skip_beats(&mut self, now_ns: u64) {
        let late_ns = now_ns - self.when_ns;
        let beats = 1 + late_ns / self.period_ns;
        self.when_ns = self
            .when_ns
            .saturating_add(self.period_ns.saturating_mul(beats))
    }
}

impl Timer {
    /// A timer that is not set.
    pub fn new(fire: Box<dyn Fire>) -> Arc<Timer> {
        Arc::new(Self::of(fire))
    }

    /// The same, not shared yet.
    pub fn of(fire: Box<dyn Fire>) -> Timer {
        Timer {
            set: SpinLock::new(
                Rank::Timer,
                Set {
                    when_ns: 0,
                    period_ns: 0,
                    entry_when_ns: 0,
                    heap: None,
                    entries: 0,
                    rests: false,
                },
            ),
            entry: AtomicU64::new(0),
            in_bubble: crate::bubble::current_id() != 0,
            fire,
        }
    }

    /// The same, which goes by the program's clock wherever it is made.
    pub(crate) fn outside_bubbles(fire: Box<dyn Fire>) -> Timer {
        Timer {
            in_bubble: false,
            ..Self::of(fire)
        }
    }

    /// Is `n` the number of its living entry? A stale entry stays stale.
    pub(crate) fn owns(&self, n: u64) -> bool {
        self.entry.load(Acquire) == n
    }

    /// Whether it is set to fire.
    pub fn is_set(&self) -> bool {
        self.entry.load(Acquire) != 0
    }

    /// Set it to fire at `when_ns`, which is not [`NEVER`], and then every `period_ns` (0: once). True: it was set before, or what
    /// it sent last was not received yet and is taken back (Go: `modify`).
    ///
    /// # Panics
    /// In a blocking call, which has no P.
    pub fn reset(self: &Arc<Self>, when_ns: u64, period_ns: u64) -> bool {
        let guard = PreemptGuard::new();
        let m = M::current(&guard);
        let p = m.p().expect("a timer is set inside blocking()");
        let home = self.home(m, p);
        debug_assert!(when_ns != NEVER, "I-END");
        let mut set = self.set.lock();
        let was_set = self.is_set();
        let taken_back = !mutant("timer_reset_keeps_value") && self.fire.take_back();
        (set.when_ns, set.period_ns) = (when_ns, period_ns);
        set.rests = false; // what it rested for is taken back
        let (mut earliest, mut left) = (false, None);
        if !was_set || when_ns < set.entry_when_ns {
            left = self.forget_entry(&mut set);
            earliest = self.new_entry(&mut set, home)
        }
        drop(set);
        if let Some(heap) = left {
            heap.timers().clean()
        }
        if earliest {
            m.sched().earlier_timer(m, p, when_ns)
        }
        was_set || taken_back
    }

    /// Puts an entry into a heap; none is in one. True: it is the earliest of a P.
    fn new_entry(self: &Arc<Self>, set: &mut Set, home: Home) -> bool {
        set.entries += 1;
        set.entry_when_ns = set.when_ns;
        self.entry.store(set.entries, Release);
        let first = home.timers().add_timer(set.when_ns, self, set.entries);
        let earliest = first && matches!(home, Home::P(_));
        set.heap = Some(home);
        earliest
    }

    /// Somebody took what it sent: if it rests, it goes on with the next beat (I-REST).
    pub fn tick_taken(self: &Arc<Self>) {
        let guard = PreemptGuard::new();
        let m = M::current(&guard);
        let mut set = self.set.lock();
        if !set.rests {
            return;
        }
        set.rests = false;
        let s = m.sched();
        // In a blocking call there is none of one's own.
        let p = m.p().unwrap_or_else(|| s.p_for_timers());
        let home = self.home(m, p);
        let now_ns = match home {
            Home::Bubble(_) => crate::now_ns(),
            Home::P(_) => crate::program_now_ns(),
        };
        if set.when_ns <= now_ns {
            set.skip_beats(now_ns)
        }
        if set.when_ns == NEVER {
            return;
        }
        let (earliest, when_ns) = (self.new_entry(&mut set, home), set.when_ns);
        drop(set);
        if earliest && m.p().is_some() {
            s.earlier_timer(m, p, when_ns)
        } else if earliest {
            s.timers_came(p)
        }
    }

    /// Where its entry goes if it is set by `m`: to `p`, or to the bubble that both are of.
    fn home(&self, m: &M, p: &'static P) -> Home {
        let bubble = self
            .in_bubble
            .then(|| crate::bubble::of_caller(m))
            .flatten();
        bubble.map_or(Home::P(&p.timers), Home::Bubble)
    }

    /// It fires no more. True: it was set, or what it sent last was not received yet and is taken back (Go: `stop`).
    pub fn stop(&self) -> bool {
        let mut set = self.set.lock();
        let was_set = self.is_set();
        let heap = self.forget_entry(&mut set);
        set.rests = false;
        let taken_back = !mutant("timer_stop_keeps_value") && self.fire.take_back();
        drop(set);
        if let Some(heap) = heap {
            heap.timers().clean()
        }
        taken_back || was_set
    }

    /// As if it had been set and were due now.
    pub(crate) fn fire_now(&self, now_ns: u64) {
        let mut set = self.set.lock();
        self.forget_entry(&mut set);
        set.rests = false;
        self.fire.take_back();
        self.fire.fire(now_ns);
    }

    /// Would anybody be woken if it fired now?
    pub(crate) fn can_wake(&self) -> bool {
        self.fire.can_wake()
    }

    /// Nobody is left who could set it: if it is not set, it lets go of what it holds; else once it has fired.
    pub fn give_up(&self) {
        let set = self.set.lock(); // who fires it holds the lock until all is under way
        let over = !self.is_set();
        if !over {
            self.fire.fires_last()
        }
        drop(set);
        if over {
            self.fire.give_up()
        }
    }

    /// A heap lets go of it: on g0, or with locks held.
    pub(crate) fn release(self: Arc<Self>) {
        if !self.fire.drops_foreign() {
            return; // the drop of `self`
        }
        if let Some(last) = Arc::into_inner(self) {
            crate::this().drop_foreign(last)
        }
    }

    /// Its entry, if it has one, is stale from here on. The heap that has it.
    fn forget_entry(&self, set: &mut Set) -> Option<Home> {
        if !self.is_set() {
            return None;
        }
        self.entry.store(0, Release);
        let heap = set.heap.take();
        if let Some(heap) = &heap {
            heap.timers().count_stale()
        }
        heap
    }

    /// Entry `n` of it, which is out of its heap, moves to that of another P: while the guard is held, so that who stops the timer
    /// counts in the right one (I-HOME). `None`: it is stale, and was counted where it was.
    pub(crate) fn new_home(&self, n: u64, to: &'static Timers) -> Option<SpinGuard<'_, Set>> {
        let mut set = self.set.lock();
        if !self.owns(n) {
            return None;
        }
        set.heap = Some(Home::P(to));
        Some(set)
    }

    /// Does it fire again and again?
    pub(crate) fn is_periodic(&self) -> bool {
        self.set.lock().period_ns != 0
    }

    /// Entry `n` of it was due and is out of `heap`. False: it did not fire.
    pub(crate) fn due(self: &Arc<Self>, heap: &Timers, n: u64, now_ns: u64) -> bool {
        let mut set = self.set.lock();
        if !self.owns(n) && !mutant("timer_fires_stale") {
            heap.uncount_stale();
            return false;
        }
        let fires = set.when_ns <= now_ns;
        if fires && set.period_ns != 0 {
            set.skip_beats(now_ns)
        }
        if fires && mutant("timer_fires_unlocked") {
            self.entry.store(0, Release);
            drop(set);
            return self.fire.fire(now_ns);
        }
        // It fires before it is in a heap again: then nobody meets that entry meanwhile.
        let noticed = fires && self.fire.fire(now_ns);
        if mutant("timer_rests_late") {
            drop(set);
            set = self.set.lock()
        }
        set.rests = fires && !noticed && set.period_ns != 0;
        if fires && (set.period_ns == 0 || set.rests || set.when_ns == NEVER) {
            self.entry.store(0, Release);
            set.heap = None
        } else {
            set.entry_when_ns = set.when_ns;
            heap.add_timer(set.when_ns, self, n);
        }
        fires
    }
}
