//! What every socket has: a descriptor, and the rule for calls that wait (Go: internal/poll, `FD`, `fdMutex`).
//!
//! ```text
//!   reset ──► try ──► done
//!              ▲  │ nothing there, no room
//!              │  ▼
//!              └─ wait on the descriptor ──► deadline passed, socket closed, interrupted: an error
//! ```
//!
//! One goroutine at a time goes through this for a direction; others wait for their turn, in order.

use super::{Error, ErrorKind, Result};
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering::*};
use csp::sync::Mutex;
use csp::time::Instant;
use sched::netpoll::{Mode, PollDesc, PollError, ReadyList};

/// A socket's descriptor, and whose turn it is.
pub(super) struct Fd {
    /// The stack tells it of readiness.
    pub(super) pd: Arc<PollDesc>,
    turns: [Mutex<()>; 2],
    interrupted: [AtomicBool; 2],
    nonblocking: AtomicBool,
}

impl From<PollError> for Error {
    fn from(error: PollError) -> Error {
        match error {
            PollError::Closing => ErrorKind::NotConnected.into(),
            PollError::Timeout => ErrorKind::TimedOut.into(),
        }
    }
}

impl Fd {
    pub(super) fn new() -> Fd {
        Fd {
            pd: Arc::new(PollDesc::new()),
            turns: [Mutex::new(()), Mutex::new(())],
            interrupted: [AtomicBool::new(false), AtomicBool::new(false)],
            nonblocking: AtomicBool::new(false),
        }
    }

    /// Tries until `attempt` has something (None: not yet).
    pub(super) fn retry<T>(
        &self,
        mode: Mode,
        mut attempt: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let turn = &self.turns[mode as usize];
        let _turn = if self.nonblocking.load(Relaxed) {
            turn.try_lock().ok_or(ErrorKind::WouldBlock)?
        } else {
            turn.lock()
        };
        self.pd.reset(mode)?;
        loop {
            match attempt() {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => {}
                // Whoever closed it has shut the connection as well.
                Err(_) if self.pd.is_closing() => return Err(ErrorKind::NotConnected.into()),
                Err(error) => return Err(error),
            }
            if self.nonblocking.load(Relaxed) {
                return Err(ErrorKind::WouldBlock.into());
            }
            // Acquire: pairs with `interrupt`. One that comes later makes the descriptor ready, and the wait is none.
            if self.interrupted[mode as usize].swap(false, Acquire) {
                return Err(ErrorKind::Interrupted.into());
            }
            self.pd.wait(mode)?;
            // It may have been made ready as well, by what closing does to the connection.
            if self.pd.is_closing() {
                return Err(ErrorKind::NotConnected.into());
            }
        }
    }

    pub(super) fn set_nonblocking(&self, on: bool) {
        self.nonblocking.store(on, Relaxed)
    }

    pub(super) fn set_deadline(&self, mode: Mode, when: Option<Instant>) {
        let when_ns = when.map(|when| when.since_start().as_nanos() as u64);
        self.pd.set_deadline(mode, when_ns)
    }

    /// Whoever waits in this direction goes on with `Interrupted`, or whoever next would have to wait there.
    pub(super) fn interrupt(&self, mode: Mode) {
        self.interrupted[mode as usize].store(true, Release);
        self.pd.ready(mode, &mut ReadyList::new()) // whose drop readies him
    }

    /// Whoever waits on the socket goes on with an error, and nobody waits on it any more.
    pub(super) fn unblock(&self) {
        self.pd.unblock(&mut ReadyList::new()) // whose drop readies them
    }
}
