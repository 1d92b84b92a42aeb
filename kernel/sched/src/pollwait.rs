//! How a G waits on a descriptor (Go: netpoll.go, `poll_runtime_pollWait`, `netpollblock`, `netpollblockcommit`).
//!
//! ```text
//!   netpoll=park    the G parks; its P and its M run others                  (Go)
//!   netpoll=block   the G keeps its M, in a blocking call; sysmon hands the P on, and the CPU halts until it is told
//!   netpoll=poll    the G yields and asks again: it is always runnable
//! ```
//!
//! The other two are there to be measured against the first.

use crate::g::{GRef, WaitReason};
use crate::netpoll::{Mode, PollDesc, PollError};
use crate::park::{Commit, gopark};
use crate::polldesc::{Side, WAIT};
use base::PreemptGuard;
use base::config::Netpoll;
use base::mutant::mutant;

impl PollDesc {
    /// Wait until the socket can be read or written. One G a direction. Returns at once if it became so since the last
    /// [`PollDesc::reset`]; may return early now and then: the caller tries again.
    ///
    /// # Errors
    /// If it is closed, or the deadline has passed, before or meanwhile.
    ///
    /// # Panics
    /// If another goroutine waits for the same, and in a blocking call.
    pub fn wait(&self, mode: Mode) -> Result<(), PollError> {
        loop {
            self.shared.check(mode)?;
            let ready = match crate::this().cfg.netpoll {
                Netpoll::Park => self.park(mode),
                #[cfg(not(any(ringo_loom, ringo_shuttle)))]
                Netpoll::Block => self.block_m(mode),
                #[cfg(not(any(ringo_loom, ringo_shuttle)))]
                Netpoll::Poll => self.ask_again(mode),
                #[cfg(any(ringo_loom, ringo_shuttle))]
                _ => unreachable!("models park"),
            };
            if ready {
                return Ok(());
            }
            // Closed, or a deadline has passed; but that may have been moved before this G came to run.
        }
    }

    /// True: because of the event.
    fn park(&self, mode: Mode) -> bool {
        let side = self.shared.of(mode);
        if !side.announce(WAIT) {
            return true;
        }
        // I-INFO: said first, looked now.
        if self.shared.check(mode).is_ok() || mutant("poll_wait_no_recheck") {
            let commit = Commit {
                f: commit,
                arg: core::ptr::from_ref(side) as usize,
            };
            // SAFETY: whoever takes the G out of `side` readies it, once. The descriptor is the caller's while the G waits.
            unsafe { gopark(PreemptGuard::new(), WaitReason::IoWait, commit) }
        }
        side.finish().0
    }
}

/// On g0, state waiting (Go: `netpollblockcommit`).
unsafe fn commit(g: GRef, side: usize) -> bool {
    let s = crate::this();
    s.netpoll.waits(); // I-WAITERS: before it can be found
    // SAFETY: `park` passes the side of a descriptor that stays until the G goes on.
    let waits = unsafe { (*(side as *const Side)).commit(g) };
    if waits {
        s.watch_network()
    } else {
        s.netpoll.wait_no_longer(1)
    }
    waits
}

#[cfg(ringo_loom)]
impl PollDesc {
    /// What `park` does before it parks: how, or `None` if there is something to read.
    pub(crate) fn model_announce(&self) -> Option<Commit> {
        let side = self.shared.of(Mode::Read);
        side.announce(WAIT).then_some(Commit {
            f: commit,
            arg: core::ptr::from_ref(side) as usize,
        })
    }
}

#[cfg(not(any(ringo_loom, ringo_shuttle)))]
impl PollDesc {
    /// `netpoll=block`: the wait holds the M, which looks at the network itself before it halts its CPU.
    fn block_m(&self, mode: Mode) -> bool {
        let side = self.shared.of(mode);
        if cfg!(ringo_kernel) {
            crate::entersyscall()
        } else {
            crate::entersyscallblock() // no sysmon there to take the P later
        }
        let s = crate::this();
        s.netpoll.waits();
        let me = arch::cpu_id(); // a G in a call stays on its CPU
        if side.announce(Side::m(me)) {
            while side.m_waits(me) && self.shared.check(mode).is_ok() {
                look_now();
                halt_unless(|| !side.m_waits(me) || self.shared.check(mode).is_err())
            }
        } else {
            s.netpoll.wait_no_longer(1);
            crate::exitsyscall();
            return true;
        }
        let (ready, still_counted) = side.finish();
        if still_counted {
            s.netpoll.wait_no_longer(1)
        }
        crate::exitsyscall();
        ready
    }

    /// `netpoll=poll`: nobody waits on the descriptor; it is asked in turn with everything else that can run.
    fn ask_again(&self, mode: Mode) -> bool {
        let side = self.shared.of(mode);
        loop {
            if !side.announce(WAIT) {
                return true;
            }
            if side.finish().0 {
                return true;
            }
            if self.shared.check(mode).is_err() {
                return false;
            }
            look_now();
            crate::yield_now()
        }
    }
}

/// Visit the poller at the next safe point, which is here.
#[cfg(not(any(ringo_loom, ringo_shuttle)))]
fn look_now() {
    let guard = PreemptGuard::new();
    arch::raise_pending(arch::PENDING_DEVICE);
    drop(guard) // serves it
}

/// Halt this CPU until its next interrupt, unless there is a reason not to. In a blocking call.
#[cfg(not(any(ringo_loom, ringo_shuttle)))]
fn halt_unless(done: impl FnOnce() -> bool) {
    let guard = PreemptGuard::new(); // what comes is served when the memory is known to be ours again
    arch::irq_disable();
    // Interrupts are off: who wakes this M from here on ends `halt` at once.
    if done() || arch::pending() != 0 || crate::this().netpoll.is_asked() {
        return arch::irq_enable();
    }
    mem::flush::before_halt();
    arch::halt();
    mem::flush::after_halt();
    drop(guard)
}
