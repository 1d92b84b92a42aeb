//! Going idle and waking up: Go's delicate dance (proc.go, "Worker thread parking/unparking", `wakep`, `startm`, `stopm`,
//! `resetspinning`), for Ms that cannot be created.
//!
//! A *spinning* M holds a P, has no work and looks for some. It is the promise that somebody is looking: who makes work
//! while an M spins need not wake another.
//!
//! ```text
//!  makes work                               goes idle
//!  W1 push the G                            I1 drop the P (pidle), and if it spins: nmspinning -= 1
//!  W2 fence                                 I2 fence
//!  W3 nmspinning ≠ 0 or no idle P? done     I3 look at every queue again; work and an idle P? take it, spin
//!  W4 else wake an M, which spins           I4 halt
//! ```
//!
//! The two fences make sure that W3 sees what I1 did, or I3 sees what W1 did. Where W3 finds no idle P it leaves
//! `needspinning` behind, which an M that gives its P up without having spun looks at (Go #45867).
//!
//! What is ours: Ms are pinned, so a wake-up may find an idle P whose M is still on its way to the idle list ("in
//! transit": P dropped, not yet listed). It sets `needspinning` then, and `stopm`, under the same lock, turns round.
//!
//! * **I-IDLE-EMPTY** An idle P's run queue is empty: it is dropped only by its M after it found nothing, and only the
//!   M that holds it puts into it.
//! * **I-TIMEKEEPER** If an idle P has timers, some M is awake that will look at them before it halts, or the idle M
//!   `poll_m` has its CPU's timer armed for the earliest of them. The network's protocols have timers too (`netpoll.rs`): they count
//!   as an idle P's, except that a G that sets one tells nobody. Its own CPU looks at them once a slice, and before it halts.

use crate::deadlock::Jump;
use crate::m::{M, count};
use crate::p::P;
use crate::pidle::bit;
use crate::sched::{Global, Sched};
use crate::timers::NEVER;
use base::SpinGuard;
use base::config::Steal;
use base::mutant::mutant;
use base::shim::{Ordering::*, fence};

const EMPTY: u32 = 0;
pub(crate) const PARKED: u32 = 1;
pub(crate) const NOTIFIED: u32 = 2;

/// How long an M polls its wake word before it halts its CPU: about what waking a halted one costs under TCG.
#[cfg(not(ringo_loom))]
const POLL_NS: u64 = 20_000;

impl Sched {
    /// The M found nothing: give its P up, look again, halt. Returns with a P, or without one when the run is over
    /// (Go: the second half of `findRunnable`).
    pub(crate) fn go_idle(&self, m: &M, p: &'static P) {
        if self.drop_p_and_look_again(m, p) {
            self.stop_looking(m)
        }
    }

    /// The P is on the idle list; the M still counts as spinning if it did.
    pub(crate) fn stop_looking(&self, m: &M) {
        if m.spinning.load(Relaxed) && self.stop_spinning(m) {
            return;
        }
        let deadline_ns = self.earliest_timer();
        if deadline_ns != NEVER && deadline_ns <= arch::now_ns() && self.take_idle_p(m, false) {
            return;
        }
        self.stopm(m, deadline_ns)
    }

    /// I1 for an M that did not spin. False: work may be there, the P was kept.
    fn drop_p_and_look_again(&self, m: &M, p: &'static P) -> bool {
        let spins = m.spinning.load(Relaxed);
        let mut gl = self.lock.lock();
        if !gl.runq.is_empty() || self.netpoll.is_asked() {
            return false;
        }
        if self.gcwaiting.load(Relaxed) && !mutant("drop_while_stopping") {
            return false; // a stop of the world has counted the idle Ps already
        }
        if !spins && self.needspinning.load(Relaxed) != 0 && !mutant("no_needspinning") {
            self.needspinning.store(0, SeqCst);
            fence(SeqCst); // what was made before it was set is seen by the look that follows
            self.become_spinning(m);
            return false;
        }
        self.pidleput(&mut gl, m, p);
        if !mutant("drop_no_fence") {
            // I2, pairs with the fences in `wakep_many`: `turn_round` sees needspinning, or they see the P. (A look here as
            // well would be one too many: no model fails without it.)
            fence(SeqCst);
        }
        true
    }

    /// I1 for an M that spun: break the promise, then look at everything once more. True: work is there, and the M has
    /// a P again and spins.
    fn stop_spinning(&self, m: &M) -> bool {
        let early = mutant("look_then_count") && self.work_anywhere();
        m.spinning.store(false, Relaxed);
        self.nmspinning.fetch_sub(1, SeqCst);
        if !mutant("recheck_no_fence") {
            fence(SeqCst); // I2, pairs with W2 in `wakep_many`
        }
        trace::point!("idle.recheck");
        let work = match () {
            _ if mutant("no_recheck") => false,
            _ if mutant("look_then_count") => early,
            _ => self.work_anywhere(),
        };
        work && self.take_idle_p(m, true)
    }

    /// Does a G wait in the global queue, or on a P from which one may be stolen, or is the network to be looked at?
    fn work_anywhere(&self) -> bool {
        // Acquire: pairs with the store in `globrunqget_batch`: Gs that left the global queue are seen in a ring, which is
        // looked at after it.
        let rings = self.cfg.steal != Steal::Off; // else what lies there is not this M's to take
        self.runqsize.load(Acquire) != 0
            || self.netpoll.is_asked() && !mutant("poll_asked_is_no_work")
            || rings
                && self
                    .allp
                    .iter()
                    .any(|p| self.pidle.load(Relaxed) & bit(p.id()) == 0 && p.has_work())
    }

    /// Take an idle P, if there is one, and spin. If `work` was seen and there is none, an M that drops its P after this
    /// must look: the maker of the work trusted this M, and those with Ps may have looked before it was made (Go:
    /// `pidlegetSpinning`).
    pub(crate) fn take_idle_p(&self, m: &M, work: bool) -> bool {
        let mut gl = self.lock.lock();
        let p = self.pidleget(&mut gl, Some(m));
        if p.is_none() && work && !mutant("recheck_no_needspinning") {
            self.needspinning.store(1, Relaxed); // seen under the lock by `drop_p_and_look_again`
        }
        drop(gl);
        match p {
            Some(p) => {
                self.become_spinning(m);
                self.acquirep(m, p);
                true
            }
            None => false,
        }
    }

    /// Must idle Ms keep an eye on this P's timers? A busy CPU that ticks serves its own.
    pub(crate) fn watched_by_idle(&self, p: &P) -> bool {
        !(self.cpus_tick() && p.is_running())
    }

    /// Earliest deadline that idle Ms have to watch: of timers, and of the network.
    pub(crate) fn earliest_timer(&self) -> u64 {
        self.allp
            .iter()
            .filter(|p| self.watched_by_idle(p))
            .map(|p| self.timer_deadline_ns(p))
            .min()
            .unwrap_or(NEVER)
            .min(self.netpoll_deadline_ns())
    }

    /// A timer was added that fires at `when_ns`. If only idle Ms watch over it and none wakes early enough, start one:
    /// it will find nothing, and become the timekeeper (Go: `wakeNetPoller`).
    pub(crate) fn wake_timekeeper(&self, when_ns: u64) {
        // A virtual clock gets there when all are idle, and the last one sees to it.
        if !self.clock_is_virtual() {
            self.wake_to_look(when_ns)
        }
    }

    /// The same for `when_ns` by the machine's clock, whatever the program's is.
    pub(crate) fn wake_to_look(&self, when_ns: u64) {
        if self.cpus_tick() {
            return;
        }
        if !mutant("timer_no_fence") {
            fence(SeqCst); // pairs with I2 of the M that kept time: it sees the timer, or we see that it left
        }
        if self.poll_until_ns.load(Relaxed) > when_ns {
            self.wakep()
        }
    }

    /// Sleep without a P until somebody hands one over, or a deadline or device gives reason to look (Go: `stopm`).
    pub(crate) fn stopm(&self, m: &M, mut deadline_ns: u64) {
        count(&m.stats.stops);
        loop {
            let mut gl = self.lock.lock();
            if self.stopping.load(Relaxed) {
                return;
            }
            self.unstrand(&mut gl);
            let tray = self.empty_tray(&mut gl, m);
            if let Some(p) = self.turn_round(&mut gl, m) {
                drop(gl);
                self.become_spinning(m);
                return self.acquirep(m, p);
            }
            trace::point!("idle.locked");
            gl.midle |= bit(m.id());
            let keeps_time = deadline_ns < self.poll_until_ns.load(Relaxed);
            if keeps_time {
                gl.poll_m = Some(m.id() as u32);
                self.poll_until_ns.store(deadline_ns, Relaxed);
            }
            let jumps = self.checkdead(gl);
            if tray {
                self.wakep()
            }
            let deadline_ns_here = if keeps_time { deadline_ns } else { NEVER };
            let woken = match jumps {
                Jump::No => self.park(m, deadline_ns_here),
                Jump::Now { mleaves } => {
                    self.jump_clock(mleaves);
                    false
                }
                Jump::InItsTime => self.park_until_next_timer(m, deadline_ns_here),
            };
            if woken || !self.leave_idle_list(m) {
                return;
            }
            let asked = self.netpoll.is_asked();
            if self.take_idle_p(m, asked) {
                return;
            }
            if asked {
                self.tell_busy()
            }
            deadline_ns = NEVER; // all Ps are busy: each looks after its own timers
        }
    }

    /// Listed as idle, P given up, under the lock that comes with the call: wait until somebody hands a P over.
    pub(crate) fn wait_listed(&self, mut gl: SpinGuard<'_, Global>, m: &M) {
        gl.midle |= bit(m.id());
        drop(gl);
        if !self.park(m, NEVER) {
            self.leave_idle_list(m);
        }
    }

    /// A wake-up came while this M was in transit, or work lies in the global queue beside an idle P.
    fn turn_round(&self, gl: &mut SpinGuard<'_, Global>, m: &M) -> Option<&'static P> {
        let work = self.needspinning.load(Relaxed) != 0
            || !gl.runq.is_empty()
            || self.netpoll.is_asked() && !mutant("poll_asked_is_no_work")
            || m.tray_len.load(Relaxed) != 0 && !mutant("transit_ignores_tray");
        if !work || mutant("stopm_no_look") {
            return None;
        }
        let p = self.pidleget(gl, Some(m))?;
        self.needspinning.store(0, SeqCst);
        fence(SeqCst); // what was made before it was set is seen by the look that follows
        Some(p)
    }

    /// The M woke by itself. False: somebody had already picked it, and the P that it was given is taken.
    pub(crate) fn leave_idle_list(&self, m: &M) -> bool {
        let mut gl = self.lock.lock();
        if gl.midle & bit(m.id()) != 0 {
            self.mleave(&mut gl, m.id());
            return true;
        }
        drop(gl);
        while !self.park(m, NEVER) {}
        false
    }

    /// Wait for the wake word. True: notified, and the P that came with it is acquired. False: the deadline passed, or a
    /// device has something.
    pub(crate) fn park(&self, m: &M, deadline_ns: u64) -> bool {
        let notified = self.wait(m, deadline_ns);
        if notified && let Some(p) = m.take_nextp() {
            self.acquirep(m, p);
        }
        notified
    }

    #[cfg(ringo_loom)]
    fn wait(&self, m: &M, _deadline_ns: u64) -> bool {
        if m.park
            .compare_exchange(EMPTY, PARKED, AcqRel, Acquire)
            .is_ok()
        {
            m.bell.wait()
        }
        m.park.swap(EMPTY, AcqRel) == NOTIFIED
    }

    #[cfg(not(ringo_loom))]
    fn wait(&self, m: &M, deadline_ns: u64) -> bool {
        if self.poll_a_while(m) {
            return m.park.swap(EMPTY, AcqRel) == NOTIFIED;
        }
        self.arm_idle(m, deadline_ns);
        // Memory on its way back moves on while nothing else is to be done.
        while mem::flush::flush_point() && m.park.load(Relaxed) == EMPTY && arch::pending() == 0 {}
        loop {
            trace::point!("idle.halt");
            arch::irq_disable();
            if m.park
                .compare_exchange(EMPTY, PARKED, AcqRel, Acquire)
                .is_err()
            {
                arch::irq_enable();
                return m.park.swap(EMPTY, AcqRel) == NOTIFIED;
            }
            // Interrupts are off: what comes from here on stays pending and ends `halt` at once.
            if arch::pending() == 0 {
                count(&m.stats.halts);
                trace::emit(trace::Kind::Idle, 0, 0);
                mem::flush::before_halt();
                m.halts(true);
                arch::halt();
                m.halts(false);
                mem::flush::after_halt();
                trace::emit(trace::Kind::Unidle, 0, arch::pending());
            } else {
                arch::irq_enable()
            }
            // AcqRel: pairs with the swap in `notewakeup`.
            if m.park.swap(EMPTY, AcqRel) == NOTIFIED {
                self.forget_fired_timer(m);
                return true;
            }
            if self.look_after_halt(m, deadline_ns) {
                return false;
            }
        }
    }

    /// Poll the wake word for as long as it would cost to wake a halted CPU, if few enough others do.
    #[cfg(not(ringo_loom))]
    fn poll_a_while(&self, m: &M) -> bool {
        let busy = self.procs().saturating_sub(self.npidle());
        if !self.cfg.spin || 2 * self.npolling.fetch_add(1, Relaxed) >= busy {
            if self.cfg.spin {
                self.npolling.fetch_sub(1, Relaxed);
            }
            return m.park.load(Relaxed) == NOTIFIED;
        }
        let end = arch::now_ns() + POLL_NS;
        let mut round = 0u32;
        while m.park.load(Relaxed) != NOTIFIED && arch::pending() == 0 && arch::now_ns() < end {
            base::shim::spin_wait(round);
            round = round.wrapping_add(1);
        }
        self.npolling.fetch_sub(1, Relaxed);
        m.park.load(Relaxed) == NOTIFIED
    }
}
