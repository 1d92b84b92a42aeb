//! Whether a process can ever go on: all its threads sleep on words of its own memory, which nobody else can change (Go: `checkdead`,
//! "all goroutines are asleep").
//!
//! ```text
//!   futex, its word's list locked:   falls asleep ──► the last one, and nobody's time will be up: deadlock
//!   waker:   pops it, counts it out ──► it runs     (the waker runs meanwhile, so nobody else finds all asleep)
//!   its time is up, it is ended:        it counts itself out
//! ```
//!
//! **I-ASLEEP** Who is counted as asleep can be woken by a thread of this process alone, or by the clock, or by the end of the process. Who has been popped is
//! counted out by the waker, before that one can fall asleep in turn; who wakes by the clock counts himself out, and until then he is
//! one whose time will be up. All counts are one word, each change is one step, and whoever makes it sees them as they were at that
//! moment: all are asleep only if it is true, and then it stays so.

use base::mutant::mutant;
use base::shim::{AtomicU64, Ordering::Relaxed};

/// Threads that have begun or are about to.
const ALIVE: u64 = 1;
/// Of these, those on a word of the process's own.
const ASLEEP: u64 = 1 << 21;
/// Of these, those that wake by the clock, until they run.
const TIMED: u64 = 1 << 42;
/// One of the three counts. A process has far fewer threads than that.
const COUNT: u64 = (1 << 21) - 1;

/// Threads of a process, by what wakes them. The counts order nothing but themselves (Relaxed): what sleepers wait for is under the lock
/// of their list.
#[derive(Default)]
pub struct Asleep(AtomicU64);

/// All sleep, and no clock wakes any.
fn dead(counts: u64) -> bool {
    let (alive, asleep) = (counts & COUNT, (counts / ASLEEP) & COUNT);
    asleep > 0 && asleep == alive && counts < TIMED
}

impl Asleep {
    /// One more thread is about to begin.
    pub fn begins(&self) {
        self.0.fetch_add(ALIVE, Relaxed);
    }

    /// A thread has ended. True: the others can never go on.
    pub fn ends(&self) -> bool {
        dead(self.0.fetch_sub(ALIVE, Relaxed) - ALIVE)
    }

    /// The caller is about to sleep; nobody can wake it yet. `timed`: until its time is up, at most. True: nobody ever will, and no other
    /// thread runs.
    pub fn falls(&self, timed: bool) -> bool {
        let timed = if timed { TIMED } else { 0 };
        if mutant("asleep_timed_late") {
            self.0.fetch_add(ASLEEP, Relaxed);
            return dead(self.0.fetch_add(timed, Relaxed) + timed);
        }
        let counts = self.0.fetch_add(ASLEEP + timed, Relaxed) + ASLEEP + timed;
        if mutant("asleep_two_looks") {
            return dead((counts & !COUNT) | (self.0.load(Relaxed) & COUNT));
        }
        dead(counts)
    }

    /// The caller has popped `n` of those that slept.
    pub fn woken(&self, n: u64) {
        self.0.fetch_sub(n * ASLEEP, Relaxed);
    }

    /// The caller slept, and runs again. `popped`: its waker has counted it out.
    pub fn runs(&self, timed: bool, popped: bool) {
        let asleep = if popped { 0 } else { ASLEEP };
        let timed = if timed { TIMED } else { 0 };
        self.0.fetch_sub(asleep + timed, Relaxed);
    }
}

#[cfg(all(test, not(ringo_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_fall_asleep_finds_out() {
        let a = Asleep::default();
        a.begins();
        a.begins();
        assert!(!a.falls(false));
        a.woken(1);
        assert!(!a.falls(false), "the other has been woken");
        a.runs(false, true);
        assert!(a.falls(false));
    }

    #[test]
    fn whose_time_will_be_up_goes_on() {
        let a = Asleep::default();
        a.begins();
        a.begins();
        assert!(!a.falls(true));
        assert!(!a.falls(false));
        a.runs(true, false);
        assert!(a.falls(false));
    }

    #[test]
    fn the_end_of_the_one_that_ran_leaves_the_others_dead() {
        let a = Asleep::default();
        a.begins();
        a.begins();
        assert!(!a.falls(false));
        assert!(a.ends());
        a.woken(1);
        assert!(!a.ends(), "nobody is left");
    }
}
