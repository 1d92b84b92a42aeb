//! Wake-up preemption: who was woken by the clock or a device does not wait for a hog's slice. (Go's does: for half a
//! slice on average.)
//!
//! ```text
//!   a timer wakes W while H runs, no P is idle, nobody spins
//!
//!   H has had its minimum run ──► H gives way ──► W … (and others that were woken) ──► H goes on, its slice kept
//!        │ not yet                                    │
//!        └─► looked at again when it has had it       └─ half of these 10 ms is used up ──► H goes on
//! ```
//!
//! A G that another G readies waits as in Go: the one that readies it is at work for both.
//!
//! * Those that were woken wait in a queue of their own, in front of the P's other Gs. It is a run queue like the other,
//!   and stolen from like it; the place of its `runnext` holds the one G that gave way. Every 61st slice begins with the
//!   others, so that those that are woken all the time do not starve them.
//! * A switch reads no clock. How long a G has run is known by the count of switches: the same count at two looks means
//!   that the G has run in between.
//!
//! **I-GAVE-WAY** At most one G of a P waits in the place behind the woken ones, with its slice kept; a second one that
//! gives way goes to the end of the local queue.

use crate::g::GRef;
use crate::m::M;
use crate::p::P;
use crate::runq::RunQueue;
use crate::sched::Sched;
use crate::schedule::{Found, GLOBAL_EVERY};
use crate::timers::NEVER;
use base::shim::{AtomicBool, AtomicU64, Ordering::*};
use core::sync::atomic as plain;

/// So often a CPU in a blocking call looks whether the call is over, if somebody waits for its end.
const IN_CALL_NS: u64 = 500_000;

/// The span of which those that were woken take at most half while others wait.
const WINDOW_NS: u64 = 10_000_000;
/// How long a spinning M may take to steal who was woken before we look again.
const TAKE_OVER_NS: u64 = 20_000;

/// What is to become of the running G.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It runs on.
    GoOn,
    /// It has had its slice.
    SliceOver,
    /// Somebody was woken, and it has had its minimum run.
    GiveWay,
    /// It was woken itself and has had enough: another such one waits, or the G that gave way to it.
    BehindOthers,
}

/// What a P keeps for it. All but the queue is the owner's (I-OWNER).
pub(crate) struct Wakeup {
    /// Woken Gs in the ring; in the place of `runnext` the G that gave way.
    pub queue: RunQueue,
    /// There may be something in the queue.
    any: AtomicBool,
    /// When to look again, [`NEVER`]: not.
    check_ns: AtomicU64,
    /// Since when woken ones run while others wait, 0: they do not.
    since_ns: plain::AtomicU64,
    /// Where the present window began, and what wake-ups took of it.
    window_ns: plain::AtomicU64,
    used_ns: plain::AtomicU64,
    /// The count of switches at the last look, and when that was.
    saw_switches: plain::AtomicU64,
    saw_ns: plain::AtomicU64,
    /// The slice of the G that gave way: whether a tick had seen it, and which tick comes next.
    slice_seen: plain::AtomicBool,
    slice_tick_ns: plain::AtomicU64,
}

impl Wakeup {
    pub fn new() -> Self {
        let z = || plain::AtomicU64::new(0);
        Self {
            queue: RunQueue::new(),
            any: AtomicBool::new(false),
            check_ns: AtomicU64::new(NEVER),
            since_ns: z(),
            window_ns: z(),
            used_ns: z(),
            saw_switches: plain::AtomicU64::new(u64::MAX),
            saw_ns: z(),
            slice_seen: plain::AtomicBool::new(false),
            slice_tick_ns: z(),
        }
    }

    /// May there be something in the queue? For the owner.
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// When the owner has to look again.
    #[inline]
    pub fn check_ns(&self) -> u64 {
        self.check_ns.load(Relaxed)
    }

    /// Owner: look again at `when_ns` at the latest.
    pub fn look_again_by(&self, when_ns: u64) {
        self.look_again(when_ns.min(self.check_ns()))
    }

    /// Owner, in a blocking call: what was to be looked at by now has to wait until the call is over, and its time, being past,
    /// would interrupt without end.
    pub fn put_off(&self, now_ns: u64) {
        if self.check_ns() <= now_ns {
            self.look_again(now_ns + IN_CALL_NS)
        }
    }

    /// Owner: a G was woken. A full queue gives it back.
    pub fn put_woken(&self, g: GRef) -> Result<(), GRef> {
        self.any.store(true, Relaxed);
        self.queue.put(g)
    }

    /// Owner: a G gave way. The one that was there before (I-GAVE-WAY: none) comes back.
    pub fn put_preempted(&self, g: GRef) -> Option<GRef> {
        self.any.store(true, Relaxed);
        self.queue.put_next(g)
    }

    /// Owner: whatever comes first.
    pub fn take_any(&self) -> Option<GRef> {
        self.queue
            .get_ring()
            .or_else(|| self.queue.get().map(|(g, _)| g))
    }

    /// Owner: the G that `m` runs now is known to run since `now_ns` at the latest.
    pub fn saw_running(&self, m: &M, now_ns: u64) {
        let switches = m.stats.switches.load(Relaxed);
        if self.saw_switches.load(Relaxed) != switches {
            self.saw_switches.store(switches, Relaxed);
            self.saw_ns.store(now_ns, Relaxed)
        }
    }

    /// What wake-ups may still take of the present window.
    fn left_ns(&self, now_ns: u64) -> u64 {
        if now_ns >= self.window_ns.load(Relaxed) + WINDOW_NS {
            self.window_ns.store(now_ns, Relaxed);
            self.used_ns.store(0, Relaxed)
        }
        let mut used_ns = self.used_ns.load(Relaxed);
        let since_ns = self.since_ns.load(Relaxed);
        if since_ns != 0 {
            used_ns += now_ns.saturating_sub(since_ns.max(self.window_ns.load(Relaxed)))
        }
        (WINDOW_NS / 2).saturating_sub(used_ns)
    }

    /// Woken ones run from `now_ns` on while others wait: `left_ns` is what they may take.
    fn begin(&self, now_ns: u64, left_ns: u64) {
        self.since_ns.store(now_ns, Relaxed);
        self.look_again(now_ns + left_ns)
    }

    /// They no longer do.
    fn end(&self, now_ns: u64) {
        let left_ns = self.left_ns(now_ns);
        self.since_ns.store(0, Relaxed);
        self.used_ns.store(WINDOW_NS / 2 - left_ns, Relaxed);
        self.look_again(match () {
            _ if self.queue.ring_is_empty() => NEVER,
            _ => self.window_ns.load(Relaxed) + WINDOW_NS,
        })
    }

    fn look_again(&self, when_ns: u64) {
        self.check_ns.store(when_ns, Relaxed)
    }
}

impl Sched {
    /// At a safe point: has the running G to give way to somebody who was woken, or one that was woken to the others?
    pub(crate) fn look_at_woken(&self, m: &M, p: &P) -> Verdict {
        let w = &p.wakeup;
        w.look_again(NEVER);
        if !w.any() && w.since_ns.load(Relaxed) == 0 {
            return Verdict::GoOn;
        }
        let now_ns = arch::now_ns();
        let left_ns = w.left_ns(now_ns);
        if w.since_ns.load(Relaxed) != 0 {
            if !self.others_wait(p) {
                w.end(now_ns)
            } else if left_ns == 0 {
                w.any.store(true, Relaxed);
                return Verdict::BehindOthers; // `find_woken` sees the same
            } else {
                w.look_again(now_ns + left_ns)
            }
        }
        if w.queue.ring_is_empty() || self.npidle() != 0 || m.curg().is_none() {
            return Verdict::GoOn; // nobody waits, or somebody was started for it, or nobody is in the way
        }
        let verdict = self.may_preempt(m, w, now_ns, left_ns);
        if verdict == Verdict::GiveWay {
            w.begin(now_ns, left_ns);
            w.slice_seen
                .store(p.schedtick() == m.tick_saw.load(Relaxed), Relaxed);
            w.slice_tick_ns.store(m.next_tick_ns.load(Relaxed), Relaxed)
        }
        verdict
    }

    /// Somebody who was woken waits, and no P is idle. If it is not the time yet, the time to look again is set.
    fn may_preempt(&self, m: &M, w: &Wakeup, now_ns: u64, left_ns: u64) -> Verdict {
        let min_run_ns = u64::from(self.cfg.min_run_us) * 1_000;
        w.saw_running(m, now_ns);
        let old_enough_ns = w.saw_ns.load(Relaxed) + min_run_ns;
        let again_ns = if self.nmspinning() != 0 {
            now_ns + min_run_ns.max(TAKE_OVER_NS)
        } else if left_ns == 0 {
            w.window_ns.load(Relaxed) + WINDOW_NS
        } else if now_ns < old_enough_ns {
            old_enough_ns
        } else if w.queue.has_runnext() {
            return Verdict::BehindOthers; // I-GAVE-WAY
        } else {
            return Verdict::GiveWay;
        };
        w.look_again_by(again_ns);
        Verdict::GoOn
    }

    /// Does anybody wait on `p`, or for any P, who was not woken by the clock or a device?
    fn others_wait(&self, p: &P) -> bool {
        p.wakeup.queue.has_runnext() || self.runqsize() != 0 || !p.runq.is_empty()
    }

    /// Those that were woken, then the one that gave way to them; the latter first when the woken ones had their half.
    /// `last_chance`: there is nobody else.
    #[cold]
    pub(crate) fn find_woken(&self, m: &M, p: &P, last_chance: bool) -> Option<Found> {
        let w = &p.wakeup;
        let counts = w.since_ns.load(Relaxed) != 0;
        if w.queue.is_empty() {
            w.any.store(false, Relaxed);
            if counts {
                w.end(arch::now_ns())
            }
            return None;
        }
        if !self.others_wait(p) {
            return w.queue.get_ring().map(|g| Found { g, inherit: false });
        }
        let now_ns = arch::now_ns();
        let left_ns = w.left_ns(now_ns);
        let others_turn = p.schedtick().is_multiple_of(GLOBAL_EVERY) && !w.queue.has_runnext();
        if (left_ns != 0 && !others_turn || last_chance)
            && let Some(g) = w.queue.get_ring()
        {
            if !counts {
                w.begin(now_ns, left_ns);
                self.arm(m, p)
            }
            return Some(Found { g, inherit: false });
        }
        w.end(now_ns);
        let found = w
            .queue
            .take_next()
            .and_then(|g| self.go_on(m, p, g, now_ns));
        self.arm(m, p);
        found
    }

    /// The G that gave way goes on with what is left of its slice.
    fn go_on(&self, m: &M, p: &P, g: GRef, now_ns: u64) -> Option<Found> {
        let w = &p.wakeup;
        // The switch that follows is the next in the count.
        w.saw_switches
            .store(m.stats.switches.load(Relaxed) + 1, Relaxed);
        w.saw_ns.store(now_ns, Relaxed);
        let seen = w.slice_seen.load(Relaxed);
        if seen && w.slice_tick_ns.load(Relaxed) != m.next_tick_ns.load(Relaxed) {
            // The tick that would have ended its slice came meanwhile.
            self.globrunqput(g);
            self.wakep();
            return None;
        }
        m.fresh_slice.store(false, Relaxed);
        if seen {
            m.tick_saw.store(p.schedtick(), Relaxed)
        }
        Some(Found { g, inherit: true })
    }
}
