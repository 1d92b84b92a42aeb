//! Deadlock: every M is idle, and nothing can wake one (Go: proc.go, `checkdead`).

use crate::sched::{Global, Sched};
use base::SpinGuard;
use base::shim::Ordering::*;

/// What a clock does that is not the machine's when all Ms are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Jump {
    /// Somebody is awake, or there is no such clock.
    No,
    /// It goes to the next timer, before which nothing can run, unless an M left the idle list since it was left this often.
    Now { mleaves: u64 },
    /// It gets there when the machine's clock has gone on by as much: until then a device may bring something.
    InItsTime,
}

impl Sched {
    /// Called by an M that has just put itself on the idle list, with the lock, which it releases. A waker takes an M off
    /// the list under the same lock, so "all are on it" means that nobody is awake and nobody is being woken.
    ///
    /// A G that waits for the network is no deadlock as long as something may come from there.
    pub(crate) fn checkdead(&self, mut gl: SpinGuard<'_, Global>) -> Jump {
        let idle = gl.midle.count_ones();
        if idle < self.mcount() || !self.main_started.load(Relaxed) {
            return Jump::No;
        }
        let network = self.network_may_wake();
        if network && self.clock_is_virtual() {
            self.pace_begins(&mut gl)
        }
        // Nobody is awake, so nobody stops or sets timers meanwhile.
        if self.allp.iter().map(|p| p.timers.live()).sum::<i64>() != 0 {
            return match self.clock_is_virtual() {
                false => Jump::No,
                true if network => Jump::InItsTime,
                true => Jump::Now {
                    mleaves: gl.mleaves,
                },
            };
        }
        if network {
            return Jump::No;
        }
        let queued = !gl.runq.is_empty() || gl.trays.iter().any(|t| !t.is_empty());
        drop(gl);
        let text = if queued {
            "checkdead: runnable goroutine although all Ms are idle"
        } else if self.num_goroutine() == 0 {
            "no goroutines (main called runtime.Goexit) - deadlock!"
        } else {
            "all goroutines are asleep - deadlock!"
        };
        self.dead(text)
    }

    #[cfg(not(any(ringo_loom, ringo_shuttle)))]
    fn dead(&self, text: &str) -> ! {
        // SAFETY: schedulers live for ever (`Sched::new`).
        let s: &'static Sched = unsafe { &*(self as *const Sched) };
        (self.hooks.fatal)(s, "deadlock", format_args!("{text}"))
    }
    /// Models end when nobody is awake: they look at what was found then.
    #[cfg(any(ringo_loom, ringo_shuttle))]
    fn dead(&self, _: &str) -> Jump {
        self.stopping.store(true, Release);
        self.allm.iter().for_each(|m| self.notewakeup(m));
        Jump::No
    }
}
