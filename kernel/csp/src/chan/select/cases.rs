//! The cases of a `select!`: what `run` does with each of them, whatever it carries.

use crate::chan::core::Chan;
use crate::chan::state::{Received, Sent};
use crate::chan::{Receiver, SendError, Sender};
use crate::time::{Duration, Instant, Timer};
use crate::waitq::Waiter;
use base::SpinLock;
use core::mem::MaybeUninit;
use sched::GRef;

/// How a case stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not chosen (yet).
    Open,
    /// Chosen: the value went or came.
    Done,
    /// Chosen: the channel is closed.
    Closed,
}

/// `recv(rx) -> v`.
pub struct RecvCase<'a, T> {
    /// None for [`never`](super::never()).
    chan: Option<&'a Chan<T>>,
    out: MaybeUninit<T>,
    stage: Stage,
    /// A tick was taken from the buffer, of which the timer has not been told (I-REST of `sched::timer`).
    tick: bool,
}

/// `send(tx, value) -> r`.
pub struct SendCase<'a, T> {
    chan: &'a Chan<T>,
    value: MaybeUninit<T>,
    stage: Stage,
}

/// `default(dur)`.
pub struct TimeoutCase {
    after: Duration,
    /// Once it is needed: none of the others could go on at once.
    timer: Option<Timer>,
    out: MaybeUninit<Instant>,
    stage: Stage,
}

impl TimeoutCase {
    /// A case that is chosen if none of the others could go on for `after`.
    pub fn new(after: Duration) -> Self {
        TimeoutCase {
            after,
            timer: None,
            out: MaybeUninit::uninit(),
            stage: Stage::Open,
        }
    }

    /// For [`run`].
    pub fn arm(&mut self) -> Arm<'_> {
        Arm(self)
    }

    /// Whether this case was chosen.
    pub fn finish(self) -> Option<()> {
        (self.stage != Stage::Open).then_some(())
    }

    fn chan(&self) -> Option<&Chan<Instant>> {
        self.timer.as_ref()?.receiver().chan.as_deref()
    }
}

/// One case of a `select!`, whatever it carries.
pub struct Arm<'a>(pub(super) &'a mut dyn Case);

impl<'a, T> RecvCase<'a, T> {
    /// A case that has not been chosen.
    pub fn new(rx: &'a Receiver<T>) -> Self {
        let chan = rx.chan.as_deref();
        chan.inspect(|c| c.check_bubble());
        RecvCase {
            chan,
            out: MaybeUninit::uninit(),
            stage: Stage::Open,
            tick: false,
        }
    }

    /// For [`run`].
    ///
    /// # Panics
    /// If the case was chosen before: it is used up.
    pub fn arm(&mut self) -> Arm<'_> {
        assert!(matches!(self.stage, Stage::Open), "a case is run once");
        Arm(self)
    }

    /// What was received, if this case was chosen.
    pub fn finish(self) -> Option<Option<T>> {
        match self.stage {
            Stage::Open => None,
            Stage::Done => {
                // SAFETY: `Done` means that a value was written.
                Some(Some(unsafe { self.out.assume_init() }))
            }
            Stage::Closed => Some(None),
        }
    }
}

impl<'a, T> SendCase<'a, T> {
    /// A case that has not been chosen.
    pub fn new(tx: &'a Sender<T>, value: T) -> Self {
        tx.chan.check_bubble();
        SendCase {
            chan: &tx.chan,
            value: MaybeUninit::new(value),
            stage: Stage::Open,
        }
    }

    /// For [`run`].
    ///
    /// # Panics
    /// If the case was chosen before: it is used up.
    pub fn arm(&mut self) -> Arm<'_> {
        assert!(matches!(self.stage, Stage::Open), "a case is run once");
        Arm(self)
    }

    /// What sending answered, if this case was chosen. The value of one that was not is dropped.
    pub fn finish(mut self) -> Option<Result<(), SendError<T>>> {
        let stage = core::mem::replace(&mut self.stage, Stage::Done);
        if stage == Stage::Done {
            return Some(Ok(()));
        }
        // SAFETY: only `Done` means that the value was moved out, which it is from here on.
        let value = unsafe { self.value.assume_init_read() };
        (stage == Stage::Closed).then_some(Err(SendError(value)))
    }
}

/// A later operand of the `select!` has left the function: nothing was chosen.
impl<T> Drop for SendCase<'_, T> {
    fn drop(&mut self) {
        if self.stage != Stage::Done {
            // SAFETY: only `Done` means that the value was moved out.
            unsafe { self.value.assume_init_drop() }
        }
    }
}

/// What [`run`] does with a case. The unsafe ones want the channel's lock held.
pub(super) trait Case {
    /// The channel's lock; null for a channel that is never ready.
    fn lock(&self) -> *const SpinLock<()>;
    /// Goes on if that needs no waiting; the G to ready, if one waited on the other side.
    unsafe fn try_now(&mut self) -> Option<Option<GRef>>;
    /// Number of the channel's bubble; `None` for a channel that is never ready.
    fn bubble(&self) -> Option<u64>;
    /// Where the value lies, or is to go.
    fn elem(&mut self) -> *mut ();
    unsafe fn enqueue(&self, w: &Waiter);
    unsafe fn dequeue(&self, w: &Waiter);
    fn set_stage(&mut self, stage: Stage);
    /// It went on by `try_now`, and all locks are free.
    fn went_on(&mut self) {}
    /// For a timeout: none of the others can go on at once. True: it does not wait at all and is chosen.
    fn start(&mut self) -> bool {
        false
    }
}

impl<T> Case for RecvCase<'_, T> {
    fn lock(&self) -> *const SpinLock<()> {
        self.chan.map_or(core::ptr::null(), |c| c.raw_lock())
    }
    unsafe fn try_now(&mut self) -> Option<Option<GRef>> {
        let out = self.out.as_mut_ptr();
        // SAFETY: the lock is held; `out` has room for a T.
        let (stage, woken) = match unsafe { self.chan?.with_state(|s| s.recv_now(out)) } {
            Received::Done(woken) => (Stage::Done, woken),
            Received::Closed => (Stage::Closed, None),
            Received::WouldBlock => return None,
        };
        self.stage = stage;
        self.tick = stage == Stage::Done && self.chan?.ticks();
        Some(woken)
    }
    fn went_on(&mut self) {
        if let (true, Some(c)) = (self.tick, self.chan) {
            c.tick_taken()
        }
    }
    fn bubble(&self) -> Option<u64> {
        Some(self.chan?.bubble)
    }
    fn elem(&mut self) -> *mut () {
        self.out.as_mut_ptr().cast()
    }
    unsafe fn enqueue(&self, w: &Waiter) {
        if let Some(c) = self.chan {
            // SAFETY: the lock is held; `run` keeps `w` until it was dequeued.
            unsafe { c.with_state(|s| s.recvq.push_back(w)) }
        }
    }
    unsafe fn dequeue(&self, w: &Waiter) {
        if let Some(c) = self.chan {
            // SAFETY: the lock is held; `w` was enqueued here.
            unsafe { c.with_state(|s| s.recvq.remove(w)) }
        }
    }
    fn set_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }
}

impl<T> Case for SendCase<'_, T> {
    fn lock(&self) -> *const SpinLock<()> {
        self.chan.raw_lock()
    }
    unsafe fn try_now(&mut self) -> Option<Option<GRef>> {
        let elem = self.value.as_ptr();
        // SAFETY: the lock is held; `stage` remembers whether the value was moved out.
        let (stage, woken) = match unsafe { self.chan.with_state(|s| s.send_now(elem)) } {
            Sent::Done(woken) => (Stage::Done, woken),
            Sent::Closed => (Stage::Closed, None),
            Sent::WouldBlock => return None,
        };
        self.stage = stage;
        Some(woken)
    }
    fn bubble(&self) -> Option<u64> {
        Some(self.chan.bubble)
    }
    fn elem(&mut self) -> *mut () {
        self.value.as_mut_ptr().cast()
    }
    unsafe fn enqueue(&self, w: &Waiter) {
        // SAFETY: the lock is held; `run` keeps `w` until it was dequeued.
        unsafe { self.chan.with_state(|s| s.sendq.push_back(w)) }
    }
    unsafe fn dequeue(&self, w: &Waiter) {
        // SAFETY: the lock is held; `w` was enqueued here.
        unsafe { self.chan.with_state(|s| s.sendq.remove(w)) }
    }
    fn set_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }
}

impl Case for TimeoutCase {
    fn lock(&self) -> *const SpinLock<()> {
        self.chan().map_or(core::ptr::null(), |c| c.raw_lock())
    }
    unsafe fn try_now(&mut self) -> Option<Option<GRef>> {
        let out = self.out.as_mut_ptr();
        // SAFETY: the lock is held; `out` has room for what is in it, which needs no drop.
        let received = unsafe { self.chan()?.with_state(|s| s.recv_now(out)) };
        if let Received::WouldBlock = received {
            return None;
        }
        self.stage = Stage::Done;
        Some(None)
    }
    fn bubble(&self) -> Option<u64> {
        Some(self.chan()?.bubble)
    }
    fn elem(&mut self) -> *mut () {
        self.out.as_mut_ptr().cast()
    }
    unsafe fn enqueue(&self, w: &Waiter) {
        if let Some(c) = self.chan() {
            // SAFETY: the lock is held; `run` keeps `w` until it was dequeued.
            unsafe { c.with_state(|s| s.recvq.push_back(w)) }
        }
    }
    unsafe fn dequeue(&self, w: &Waiter) {
        if let Some(c) = self.chan() {
            // SAFETY: the lock is held; `w` was enqueued here.
            unsafe { c.with_state(|s| s.recvq.remove(w)) }
        }
    }
    fn set_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }
    fn start(&mut self) -> bool {
        if self.after.is_zero() {
            self.stage = Stage::Done;
            return true;
        }
        self.timer = Some(Timer::new(self.after));
        false
    }
}
