//! PollDesc: where at most one G a direction waits until a socket can be read or written, its deadline has passed, or it is closed
//! (Go: netpoll.go, `pollDesc`, `netpollready`, `netpollunblock`, `pollUnblock`).
//!
//! Each direction is a binary semaphore:
//!
//! ```text
//!              ready                      wait
//!    READY ◄───────────────── NIL ──────────────────► WAIT ── commit, on g0 ──► G          (netpoll=block: ── ► M)
//!      │                     ▲ ▲ ▲                      │ ready: READY             │ ready: READY, and the G is readied
//!      │  wait: goes on      │ │ │     close, deadline  │                          │
//!      └─────────────────────┘ │ └──────────────────────┘                          │ close, deadline: NIL, likewise
//!         reset: before a try ─┘ ◄─────────────────────────────────────────────────┘
//! ```
//!
//! It is told of edges: who reads calls [`PollDesc::reset`], tries, and only if there was nothing [`PollDesc::wait`]. What comes
//! after the reset is not lost: it is found by the try, or makes READY.
//!
//! **I-EDGE** Who makes a socket ready does so first and calls `ready` then; who waits resets first and tries then. So either the
//! try finds it, or `ready` finds the direction reset.
//!
//! **I-INFO** Close and deadline set their bit first and wake then; who waits says so first and looks at the bits then.
//!
//! Go keeps its descriptors for ever and tells an event for an old user of one by a sequence number (`fdseq`, #14548). Here a
//! socket keeps its descriptor in an `Arc`, and so does whoever is about to wake it: what comes late, comes to a
//! descriptor that nobody waits on, and memory that somebody could still write to is not used again.

use crate::g::{G, GRef};
use crate::netpoll::ReadyList;
use crate::timer::Timer;
use base::mutant::mutant;
use base::shim::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::*, fence};

extern crate alloc;
use alloc::sync::Arc;

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Something can be read, or accepted.
    Read = 0,
    /// Something can be written, or the connection is there.
    Write = 1,
}

/// Why a wait ended without its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollError {
    /// The socket is closed (Go: `pollErrClosing`).
    Closing,
    /// The deadline has passed (Go: `pollErrTimeout`).
    Timeout,
}

impl core::fmt::Display for PollError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Closing => "use of closed network connection",
            Self::Timeout => "i/o timeout",
        })
    }
}

impl core::error::Error for PollError {}

/// Nobody waits, nothing has come.
const NIL: usize = 0;
/// Something has come.
const READY: usize = 1;
/// Somebody is about to wait.
pub(crate) const WAIT: usize = 2;
/// An M waits: its number, shifted, and this. Everything else is the address of a G.
const IS_M: usize = 4;
const M_SHIFT: u32 = 3;

/// The bit for the socket's end; those for deadlines that have passed are `1 << mode`.
const CLOSING: u32 = 4;

/// The layer above lets one at a time read, and one write (Go: `fdMutex`).
const TWO: &str = "two goroutines wait on one side of a socket";

/// One direction.
pub(crate) struct Side(AtomicUsize);

/// Who was woken.
enum Woken {
    Nobody,
    G(GRef),
    M(usize),
}

impl Side {
    fn new() -> Self {
        Self(AtomicUsize::new(NIL))
    }

    /// The caller is about to wait: as `who`, [`WAIT`] or [`Side::m`]. False: something has come.
    ///
    /// # Panics
    /// If somebody waits here already.
    pub(crate) fn announce(&self, who: usize) -> bool {
        loop {
            // Acquire: pairs with `wake`: what made the socket ready is seen.
            if self
                .0
                .compare_exchange(READY, NIL, Acquire, Relaxed)
                .is_ok()
            {
                return false;
            }
            match self.0.compare_exchange(NIL, who, Relaxed, Relaxed) {
                Ok(_) => break,
                Err(READY) => {}
                Err(_) => panic!("{TWO}"),
            }
        }
        if !mutant("poll_wait_no_fence") {
            fence(SeqCst) // I-INFO, pairs with the one in `evict`
        }
        true
    }

    /// Who waits as M `id`.
    pub(crate) fn m(id: usize) -> usize {
        id << M_SHIFT | IS_M
    }

    /// The G parks. False: it was woken first. After true it may be gone, and the socket with it.
    pub(crate) fn commit(&self, g: GRef) -> bool {
        let g = g.as_ptr() as usize;
        debug_assert!(g & (IS_M | READY | WAIT) == 0);
        if mutant("poll_commit_no_cas") {
            self.0.store(g, Release);
            return true;
        }
        // Release: pairs with `wake`: who finds the G finds it parked.
        self.0.compare_exchange(WAIT, g, Release, Relaxed).is_ok()
    }

    /// Does M `id` still wait here?
    pub(crate) fn m_waits(&self, id: usize) -> bool {
        self.0.load(Acquire) == Self::m(id)
    }

    /// The wait is over. First: because of its event. Second: nobody had to wake an M, which is still counted.
    pub(crate) fn finish(&self) -> (bool, bool) {
        // AcqRel: pairs with `wake`.
        let old = self.0.swap(NIL, AcqRel);
        debug_assert!(old <= WAIT || old & IS_M != 0, "a G that runs waits");
        (old == READY, old & IS_M != 0)
    }

    /// Before a try: what came before does not count.
    fn reset(&self) {
        match self.0.load(Relaxed) {
            NIL => {}
            READY => self.0.store(NIL, Relaxed), // only who waits changes it
            _ => panic!("{TWO}"),
        }
        if !mutant("poll_reset_no_fence") {
            fence(SeqCst) // I-EDGE, pairs with the one in `ready`
        }
    }

    /// Wake whoever waits, with its event or without (Go: `netpollunblock`).
    fn wake(&self, with_event: bool) -> Woken {
        let mut old = self.0.load(Acquire);
        let new = if with_event { READY } else { NIL };
        loop {
            if old == READY || old == NIL && !with_event {
                return Woken::Nobody;
            }
            if mutant("poll_wake_no_cas") {
                self.0.store(new, Release);
                break;
            }
            // AcqRel: pairs with `commit`, and with whoever goes on: `announce`, `finish`.
            match self.0.compare_exchange(old, new, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        match old {
            NIL | WAIT => Woken::Nobody,
            m if m & IS_M != 0 => Woken::M(m >> M_SHIFT),
            // SAFETY: `commit` put a G there that waits, and the exchange makes the caller its one waker.
            g => unsafe { GRef::from_ptr(g as *mut G) }.map_or(Woken::Nobody, Woken::G),
        }
    }
}

/// What timers share with the descriptor.
pub(crate) struct Sides {
    sides: [Side; 2],
    /// I-INFO.
    info: AtomicU32,
}

impl Sides {
    pub(crate) fn of(&self, mode: Mode) -> &Side {
        &self.sides[mode as usize]
    }

    /// Is there a reason not to wait (Go: `netpollcheckerr`)?
    pub(crate) fn check(&self, mode: Mode) -> Result<(), PollError> {
        match self.info.load(Acquire) {
            i if i & CLOSING != 0 => Err(PollError::Closing),
            i if i & 1 << mode as u8 != 0 => Err(PollError::Timeout),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.info.load(Acquire) & CLOSING != 0
    }

    fn wake(&self, mode: Mode, with_event: bool, list: &mut ReadyList) {
        match self.of(mode).wake(with_event) {
            Woken::Nobody => {}
            Woken::G(g) => list.push_g(g),
            Woken::M(id) => list.push_m(id),
        }
    }

    /// I-INFO: `bits` say why, and whoever waits on `mode` finds out.
    fn evict(&self, bits: u32, modes: &[Mode], list: &mut ReadyList) {
        self.info.fetch_or(bits, AcqRel);
        if !mutant("poll_evict_no_fence") {
            fence(SeqCst) // pairs with the one in `announce`
        }
        for &mode in modes {
            self.wake(mode, false, list)
        }
    }

    /// The deadline has passed.
    pub(crate) fn expire(&self, mode: Mode, list: &mut ReadyList) {
        self.evict(1 << mode as u8, &[mode], list)
    }

    /// It has not, after all. True: it had.
    pub(crate) fn unexpire(&self, mode: Mode) -> bool {
        let bit = 1 << mode as u8;
        self.info.fetch_and(!bit, AcqRel) & bit != 0
    }
}

/// A descriptor: one for each socket.
pub struct PollDesc {
    pub(crate) shared: Arc<Sides>,
    /// The timers of the deadlines, from the first on that is set: `polldeadline.rs`.
    pub(crate) timers: [AtomicPtr<Timer>; 2],
}

impl PollDesc {
    /// One on which nobody waits.
    pub fn new() -> Self {
        let none = || AtomicPtr::new(core::ptr::null_mut());
        Self {
            shared: Arc::new(Sides {
                sides: [Side::new(), Side::new()],
                info: AtomicU32::new(0),
            }),
            timers: [none(), none()],
        }
    }

    /// Before a try to read or write (Go: `poll_runtime_pollReset`).
    ///
    /// # Errors
    /// If there is no point in one.
    ///
    /// # Panics
    /// If another goroutine waits for the same.
    pub fn reset(&self, mode: Mode) -> Result<(), PollError> {
        self.shared.check(mode)?;
        self.shared.of(mode).reset();
        Ok(())
    }

    /// The socket can be read or written: who waits for that goes on, or the next who wants to wait does not (Go:
    /// `netpollready`). From the poller, or from a goroutine; what made it ready was done before (I-EDGE).
    pub fn ready(&self, mode: Mode, list: &mut ReadyList) {
        if !mutant("poll_ready_no_fence") {
            fence(SeqCst) // I-EDGE, pairs with the one in `Side::reset`
        }
        self.shared.wake(mode, true, list)
    }

    /// The socket is closed: whoever waits goes on with [`PollError::Closing`], and nobody waits any more (Go: `pollUnblock`).
    /// A second time does nothing.
    pub fn unblock(&self, list: &mut ReadyList) {
        self.shared.evict(CLOSING, &[Mode::Read, Mode::Write], list);
        self.stop_timers()
    }

    /// Is it closed?
    pub fn is_closing(&self) -> bool {
        self.shared.is_closing()
    }
}

impl Default for PollDesc {
    fn default() -> Self {
        Self::new()
    }
}
