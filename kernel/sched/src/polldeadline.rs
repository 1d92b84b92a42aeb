//! Deadlines of a descriptor (Go: netpoll.go, `poll_runtime_pollSetDeadline`, `netpollDeadlineImpl`).
//!
//! Each direction has a timer of its own, made when a deadline is first set. Go numbers the deadlines, so that a timer of an old
//! one that fires late does nothing (`rseq`, `wseq`); here the timer's entry has that number (I-ENTRY), and its lock
//! is held while it fires: after `reset` and `stop` nothing comes of what was before, and the bit that it may have set is
//! taken back under the same lock. No other lock is taken for a deadline, so none can be taken in the wrong order, and none is
//! held by a G that was interrupted (Go #35532, #35367, #38070). Moving a deadline further away, as servers do for each
//! request, changes no heap.
//!
//! A deadline goes by the program's clock, in bubbles too: who waits for the network there is not durably blocked, so a bubble's
//! clock stands still until it goes on, and would never get to the deadline.

use crate::netpoll::ReadyList;
use crate::polldesc::{Mode, PollDesc, Sides};
use crate::timer::{Fire, Timer};
use base::mutant::mutant;
use base::shim::Ordering::*;

extern crate alloc;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// What the timer of a deadline does.
struct Deadline {
    of: Arc<Sides>,
    mode: Mode,
}

impl Fire for Deadline {
    fn fire(&self, _now_ns: u64) -> bool {
        let mut list = ReadyList::new();
        self.of.expire(self.mode, &mut list);
        list.inject();
        true
    }

    fn take_back(&self) -> bool {
        !mutant("poll_deadline_stays") && self.of.unexpire(self.mode)
    }
}

impl PollDesc {
    /// From `when_ns` on, by the caller's clock ([`crate::now_ns`]), waits for `mode` fail with
    /// [`PollError::Timeout`](crate::netpoll::PollError), that which is under way as well; a time that has passed works at once.
    /// `None`: never. It takes the place of the deadline before, also if that has passed: then one can wait again.
    ///
    /// # Panics
    /// In a blocking call, if the deadline is still to come.
    pub fn set_deadline(&self, mode: Mode, when_ns: Option<u64>) {
        if self.is_closing() {
            return;
        }
        let Some(when_ns) = when_ns else {
            if let Some(timer) = self.timer(mode) {
                timer.stop();
            }
            return;
        };
        let timer = self.timer_or_new(mode);
        let now_ns = crate::now_ns();
        if when_ns <= now_ns {
            timer.fire_now(now_ns)
        } else if crate::bubble::current_id() == 0 {
            timer.reset(when_ns.min(u64::MAX - 1), 0);
        } else {
            let ahead_ns = when_ns - now_ns;
            let when_ns = crate::program_now_ns().saturating_add(ahead_ns);
            timer.reset(when_ns.min(u64::MAX - 1), 0);
        }
    }

    fn timer(&self, mode: Mode) -> Option<Arc<Timer>> {
        // Acquire: pairs with the exchange in `timer_or_new`.
        let p = self.timers[mode as usize].load(Acquire);
        // SAFETY: null, or a timer of which the descriptor holds a count until its drop; the count is one more for the result.
        (!p.is_null()).then(|| unsafe {
            Arc::increment_strong_count(p);
            Arc::from_raw(p)
        })
    }

    fn timer_or_new(&self, mode: Mode) -> Arc<Timer> {
        if let Some(timer) = self.timer(mode) {
            return timer;
        }
        let fire = Box::new(Deadline {
            of: self.shared.clone(),
            mode,
        });
        let new = Arc::new(Timer::outside_bubbles(fire));
        let ours = Arc::into_raw(new.clone()).cast_mut();
        let slot = &self.timers[mode as usize];
        match slot.compare_exchange(core::ptr::null_mut(), ours, AcqRel, Acquire) {
            Ok(_) => new,
            Err(_) => {
                // SAFETY: the count that was made above for the slot, where another one lies by now.
                drop(unsafe { Arc::from_raw(ours) });
                self.timer(mode).expect("a timer stays")
            }
        }
    }

    /// The socket is closed: no deadline is left. One that is set by another G at this very moment stays until it has passed,
    /// or until the descriptor is dropped.
    pub(crate) fn stop_timers(&self) {
        for mode in [Mode::Read, Mode::Write] {
            if let Some(timer) = self.timer(mode).filter(|t| t.is_set()) {
                timer.stop();
            }
        }
    }
}

impl Drop for PollDesc {
    fn drop(&mut self) {
        self.stop_timers();
        for slot in &self.timers {
            let p = slot.load(Acquire);
            if !p.is_null() {
                // SAFETY: the count that `timer_or_new` put there.
                drop(unsafe { Arc::from_raw(p) })
            }
        }
    }
}
