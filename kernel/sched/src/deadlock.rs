//! Deadlock: every M is idle, and nothing can wake one (Go: proc.go, `checkdead`).

use crate::g::{GRef, GStatus};
use crate::sched::{Global, Sched};
use base::SpinGuard;
use base::shim::Ordering::*;
use core::fmt;

impl Sched {
    /// Called by an M that has just put itself on the idle list, with the lock, which it releases. A waker takes an M off
    /// the list under the same lock, so "all are on it" means that nobody is awake and nobody is being woken.
    pub(crate) fn checkdead(&self, gl: SpinGuard<'_, Global>) {
        let idle = gl.midle.count_ones();
        if idle < self.mcount() || !self.main_started.load(Relaxed) {
            return;
        }
        if self.allp.iter().any(|p| !p.timers.is_empty()) {
            return;
        }
        let queued = !gl.runq.is_empty() || gl.trays.iter().any(|t| !t.is_empty());
        drop(gl);
        let text = if queued {
            "checkdead: runnable goroutine although all Ms are idle"
        } else if self.num_goroutine() == 0 {
            "no goroutines (main called goexit) - deadlock!"
        } else {
            "all goroutines are asleep - deadlock!"
        };
        self.dead(text)
    }

    #[cfg(not(ringo_loom))]
    fn dead(&self, text: &str) -> ! {
        // SAFETY: schedulers live for ever (`Sched::new`).
        let s: &'static Sched = unsafe { &*(self as *const Sched) };
        (self.hooks.fatal)(s, "deadlock", format_args!("{text}"))
    }
    /// Models end when nobody is awake: they look at what was found then.
    #[cfg(ringo_loom)]
    fn dead(&self, _: &str) {
        crate::models::all_idle(self)
    }
}

/// One G as a report shows it: Go's header line, without its frames.
pub struct Header(pub GRef);

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let g = self.0;
        let state = match g.status() {
            GStatus::Idle => "idle",
            GStatus::Runnable => "runnable",
            GStatus::Running => "running",
            GStatus::Syscall => "syscall",
            GStatus::Dead => "dead",
            GStatus::Waiting => return write!(f, "goroutine {} [{}]:", g.id(), g.wait()),
        };
        write!(f, "goroutine {} [{state}]:", g.id())
    }
}

/// Where the G comes from, as the last line of its report; empty for the main goroutine.
pub struct CreatedBy(pub GRef);

impl fmt::Display for CreatedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.creator() {
            (Some(at), parent) if parent != 0 => write!(
                f,
                "created by goroutine {parent} at {}:{}",
                at.file(),
                at.line()
            ),
            _ => Ok(()),
        }
    }
}
