//! Waiting, for threads of ring 3: for something, or the end of the process, or the time, or that the handle is closed.

use crate::sleeper::{Interrupt, Sleeper, Woken};
use crate::stop::Stop;
use abi::{Error, FOREVER};
use alloc::sync::Arc;
use base::mutant::mutant;
use base::shim::{AtomicBool, AtomicU32, Ordering::*};
use base::{Rank, SpinGuard, SpinLock};
use csp::waitq::{Batch, WaitQueue};
use sched::WaitReason;

/// One thread of a process, as one that waits. It makes one when it begins and drops it when it ends.
pub struct Waits {
    stop: Arc<Stop>,
    sleeper: Arc<Sleeper>,
}

/// Whether a handle was closed while threads of its process use it, and how many wait on it.
#[derive(Default)]
pub struct Closing {
    closed: AtomicBool,
    waiting: AtomicU32,
}

impl Closing {
    base::const_fn! {
        /// Of a handle that is open.
        pub const fn new() -> Closing {
            Closing {
                closed: AtomicBool::new(false),
                waiting: AtomicU32::new(0),
            }
        }
    }

    /// It is closed: who waits on it in the process of `stop` goes on with [`Error::BadHandle`]. Nobody else is disturbed: a thread in a
    /// wait for a word would count as asleep while it looks (I-ASLEEP).
    pub fn close(&self, stop: &Stop) {
        self.closed.store(true, Release);
        // One step, as `Wait::look`'s is: if this is the earlier one, that sees `closed`; if not, this sees what it waits on.
        let waiting = if mutant("close_loads") {
            self.waiting.load(Acquire)
        } else {
            self.waiting.fetch_add(0, AcqRel)
        };
        if waiting != 0 {
            stop.nudge(|sleeper| sleeper.waits_on(self) || mutant("close_nudges_all"))
        }
    }
}

impl Waits {
    /// Of a thread of the process that `stop` ends.
    pub fn new(stop: &Arc<Stop>) -> Waits {
        let sleeper = Sleeper::new();
        stop.add(sleeper.clone());
        Waits {
            stop: stop.clone(),
            sleeper,
        }
    }

    /// What ends it.
    pub fn stop(&self) -> &Arc<Stop> {
        &self.stop
    }

    /// A wait for something that no handle names.
    pub fn wait(&self, reason: WaitReason) -> Wait<'_> {
        Wait {
            waits: self,
            closing: None,
            counted: false,
            reason,
        }
    }

    /// A wait on a handle.
    pub fn wait_on<'a>(&'a self, closing: &'a Closing, reason: WaitReason) -> Wait<'a> {
        Wait {
            closing: Some(closing),
            ..self.wait(reason)
        }
    }

    /// Sleeps for `ns` nanoseconds; [`FOREVER`].
    ///
    /// # Errors
    /// `Killed`.
    pub fn sleep(&self, ns: u64) -> Result<(), Error> {
        self.wait(WaitReason::Sleep).sleep(ns)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.stop.remove(&self.sleeper)
    }
}

/// A wait of a thread.
pub struct Wait<'a> {
    waits: &'a Waits,
    closing: Option<&'a Closing>,
    /// It is counted in `closing`.
    counted: bool,
    reason: WaitReason,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(closing) = self.closing
            && self.counted
        {
            self.waits.sleeper.set_waits_on(None);
            closing.waiting.fetch_sub(1, Relaxed);
        }
    }
}

impl<'a> Wait<'a> {
    /// Waits until `attempt` has something under `lock`. Whoever changes the state pops waiters from the list that `queue` finds there;
    /// what `attempt` pops itself it hands out as a [`Batch`], which is readied.
    ///
    /// Who was popped attempts before all else, so that a wake-up for one of several is never used up by one that is ended.
    ///
    /// # Errors
    /// `Killed`, `BadHandle`: the handle was closed meanwhile.
    pub fn until<T, R>(
        &mut self,
        lock: &SpinLock<T>,
        queue: impl Fn(&mut T) -> &mut WaitQueue,
        mut attempt: impl FnMut(&mut T) -> Option<(R, Option<Batch>)>,
    ) -> Result<R, Error> {
        loop {
            self.waits.sleeper.begin();
            if mutant("wait_looks_first") {
                self.look()?
            }
            let mut guard = lock.lock();
            if let Some((result, woken)) = attempt(&mut guard) {
                drop(guard);
                if let Some(woken) = woken {
                    woken.ready(true)
                }
                return Ok(result);
            }
            self.look()?;
            self.park(guard, &queue, core::ptr::null_mut());
        }
    }

    /// Sleeps once in a list, with `mark` on the waiter, unless it was nudged since [`begin`](Self::begin).
    pub(crate) fn park<T>(
        &self,
        guard: SpinGuard<'_, T>,
        queue: impl Fn(&mut T) -> &mut WaitQueue,
        mark: *mut (),
    ) -> Woken {
        self.waits.sleeper.park(guard, queue, mark, self.reason)
    }

    /// Before [`look`](Self::look).
    pub(crate) fn begin(&self) {
        self.waits.sleeper.begin()
    }

    /// Whether something has ended the wait.
    pub(crate) fn look(&mut self) -> Result<(), Error> {
        if self.waits.stop.is_stopped() && !mutant("wait_ignores_stop") {
            return Err(Error::Killed);
        }
        let Some(closing) = self.closing else {
            return Ok(());
        };
        if !self.counted {
            self.waits.sleeper.set_waits_on(Some(closing)); // before: who counts it finds it
            closing.waiting.fetch_add(1, AcqRel); // pairs with `Closing::close`
            self.counted = true
        }
        if closing.closed.load(Acquire) {
            return Err(Error::BadHandle);
        }
        Ok(())
    }

    /// Waits until `ns` nanoseconds are over.
    ///
    /// # Errors
    /// `Killed`, `BadHandle`.
    pub fn sleep(&mut self, ns: u64) -> Result<(), Error> {
        // Nobody pops from it.
        let queue = SpinLock::new(Rank::Channel, WaitQueue::new());
        let alarm = self.alarm(ns);
        loop {
            self.begin();
            self.look()?;
            if alarm.is_over() {
                return Ok(());
            }
            self.park(queue.lock(), |q| q, core::ptr::null_mut());
        }
    }

    /// An alarm in `ns` nanoseconds, none for [`FOREVER`]. With no lock held.
    pub(crate) fn alarm(&self, ns: u64) -> Alarm<'a> {
        let sleeper = (ns != FOREVER && ns != 0).then_some(&*self.waits.sleeper);
        if let Some(sleeper) = sleeper {
            sleeper.set_alarm(sched::now_ns().saturating_add(ns))
        }
        Alarm {
            sleeper,
            at_once: ns == 0,
        }
    }

    /// Calls `f`, which waits by itself and of which `how` makes it return, until it has something. None from `f`: it was made
    /// to return.
    ///
    /// # Errors
    /// `Killed`, `BadHandle`.
    pub fn inside<R>(
        &mut self,
        how: Arc<dyn Interrupt>,
        mut f: impl FnMut() -> Option<R>,
    ) -> Result<R, Error> {
        let sleeper = &*self.waits.sleeper; // not of `self`, which looks
        sleeper.enter_call(how);
        let result = loop {
            sleeper.begin();
            if let Err(error) = self.look() {
                break Err(error);
            }
            if let Some(result) = f() {
                break Ok(result);
            }
        };
        sleeper.leave_call();
        result
    }
}

/// An alarm of a wait; it is stopped when this is dropped.
pub(crate) struct Alarm<'a> {
    sleeper: Option<&'a Sleeper>,
    at_once: bool,
}

impl Alarm<'_> {
    /// Whether the time is up. After `begin`.
    pub(crate) fn is_over(&self) -> bool {
        self.at_once || self.sleeper.is_some_and(Sleeper::rang)
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if let Some(sleeper) = self.sleeper {
            sleeper.stop_alarm()
        }
    }
}
