//! Whether a process can ever go on: all its threads sleep on words of its own memory, which nobody else can change (Go: `checkdead`,
//! "all goroutines are asleep").
//!
//! ```text
//!   futex, under the lock of the word's list:   falls asleep ──► the last one, and nobody's time will be up: deadlock
//!   waker:   pops it, counts it out ──► it runs     (the waker runs meanwhile, so nobody else finds all asleep)
//!   its time is up, it is ended:        it counts itself out
//! ```
//!
//! **I-ASLEEP** Who is counted as asleep can be woken by a thread of this process alone, or by the clock. Who has been popped is
//! counted out by the waker, before that one can fall asleep in turn; who wakes by the clock counts himself out before his time.
//! So `asleep` reaches `alive` with `timed` at 0 only if it is true, and then it stays so.

use core::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// Threads of a process, by what wakes them. All three in one order of all (SeqCst): who falls asleep and who leaves look at all.
#[derive(Default)]
pub struct Asleep {
    /// That have begun or are about to.
    alive: AtomicI64,
    /// On a word of the process's own.
    asleep: AtomicI64,
    /// Of these, those that wake by the clock, until they run.
    timed: AtomicI64,
}

impl Asleep {
    /// One more thread is about to begin.
    pub fn begins(&self) {
        self.alive.fetch_add(1, SeqCst);
    }

    /// A thread has ended. True: the others can never go on.
    pub fn ends(&self) -> bool {
        self.alive.fetch_sub(1, SeqCst);
        self.is_dead()
    }

    /// The caller is about to sleep; nobody can wake it yet. `timed`: until its time is up, at most. True: nobody ever will, and no other
    /// thread runs.
    pub fn falls(&self, timed: bool) -> bool {
        if timed {
            self.timed.fetch_add(1, SeqCst); // first, or it would look as if it slept for ever
        }
        self.asleep.fetch_add(1, SeqCst);
        self.is_dead()
    }

    /// The caller has popped `n` of those that slept.
    pub fn woken(&self, n: u64) {
        self.asleep.fetch_sub(n as i64, SeqCst);
    }

    /// The caller slept, and runs again. `popped`: its waker has counted it out.
    pub fn runs(&self, timed: bool, popped: bool) {
        if !popped {
            self.asleep.fetch_sub(1, SeqCst);
        }
        if timed {
            self.timed.fetch_sub(1, SeqCst); // last, as above
        }
    }

    /// All sleep, and no clock wakes any.
    pub fn is_dead(&self) -> bool {
        let asleep = self.asleep.load(SeqCst);
        asleep > 0 && asleep == self.alive.load(SeqCst) && self.timed.load(SeqCst) == 0
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
        assert!(!a.is_dead());
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
