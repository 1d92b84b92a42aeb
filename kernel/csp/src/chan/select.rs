//! `select!`: wait for whichever of several channel operations can go on first (Go: `runtime/select.go`).
//!
//! ```text
//!   evaluate all operands, in source order
//!   lock all channels, in order of their addresses
//!            (with `default(dur)`: pass 1 without it; none can? start the timer, lock again, go on as if it were a channel)
//!   pass 1   in random order: the first one that can go on does; unlock; done
//!            (with `default`: none can? unlock; done)
//!   pass 2   a waiter on every channel, all with one claim word; park; unlock all once the state is `waiting`
//!            another G pops one of them, which wins the claim, and readies us
//!   pass 3   lock all again, take the losers out of their lists, unlock; done
//! ```
//!
//! **Why nothing here dangles.** The waiters, the claim word and the order of locks lie on the selecting G's stack. As
//! soon as the first lock is free, another CPU may ready the G while the rest is still being unlocked on g0. But the G
//! cannot leave its frame before pass 3 has all locks, so the channels are there until the last one is free; the order of
//! locks is copied before.

use super::core::Chan;
use super::state::{Received, Sent};
use super::{Receiver, SendError, Sender};
use crate::time::{Duration, Instant, Timer};
use crate::waitq::Waiter;
use base::{PreemptGuard, Rng, SpinLock};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sched::{Commit, GRef, WaitReason};

/// How a case stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
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
pub struct Arm<'a>(&'a mut dyn Case);

impl<'a, T> RecvCase<'a, T> {
    /// A case that has not been chosen.
    pub fn new(rx: &'a Receiver<T>) -> Self {
        let chan = rx.chan.as_deref();
        chan.inspect(|c| c.check_bubble());
        RecvCase {
            chan,
            out: MaybeUninit::uninit(),
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

    /// What was received, if this case was chosen.
    pub fn finish(self) -> Option<Option<T>> {
        match self.stage {
            Stage::Open => None,
            // SAFETY: `Done` means that a value was written.
            Stage::Done => Some(Some(unsafe { self.out.assume_init() })),
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
    pub fn finish(self) -> Option<Result<(), SendError<T>>> {
        if self.stage == Stage::Done {
            return Some(Ok(()));
        }
        // SAFETY: only `Done` means that the value was moved out.
        let value = unsafe { self.value.assume_init() };
        (self.stage == Stage::Closed).then_some(Err(SendError(value)))
    }
}

/// What [`run`] does with a case. The unsafe ones want the channel's lock held.
trait Case {
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
        Some(woken)
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

/// Runs one case of `arms`. `wait`: there is no `default`; `timeout`: one of them is a [`TimeoutCase`].
pub fn run<const N: usize>(mut arms: [Arm<'_>; N], wait: bool, timeout: bool) {
    // Once the clock runs, a case that can go on by then is as good as the timeout: chance decides.
    if timeout && (one_goes_on(&mut arms) || arms.iter_mut().any(|arm| arm.0.start())) {
        return;
    }
    let off = PreemptGuard::new();
    let order = random_order::<N>(&off);
    let locks = Locks::of(&arms);
    locks.lock();
    if first_ready(&mut arms, &locks, &order) {
        return;
    }
    if wait {
        wait_for_one(&mut arms, &locks, &order, off);
    } else {
        locks.unlock();
    }
}

/// Runs a case that needs no waiting; false if there is none.
fn one_goes_on<const N: usize>(arms: &mut [Arm<'_>; N]) -> bool {
    let off = PreemptGuard::new();
    let locks = Locks::of(arms);
    locks.lock();
    let ran = first_ready(arms, &locks, &random_order(&off));
    if !ran {
        locks.unlock()
    }
    ran
}

/// Pass 1: all channels are locked. True: a case went on, and they are not any more.
fn first_ready<const N: usize>(
    arms: &mut [Arm<'_>; N],
    locks: &Locks<N>,
    order: &[usize; N],
) -> bool {
    for &i in order {
        // SAFETY: all channels are locked.
        if let Some(woken) = unsafe { arms[i].0.try_now() } {
            locks.unlock();
            if let Some(g) = woken {
                sched::goready(g);
            }
            return true;
        }
    }
    false
}

/// Passes 2 and 3. All channels are locked; they are not afterwards.
///
/// The waiters are queued in random order too: of several cases on one channel the first in its list wins.
fn wait_for_one<const N: usize>(
    arms: &mut [Arm<'_>; N],
    locks: &Locks<N>,
    order: &[usize; N],
    off: PreemptGuard,
) {
    let claim = AtomicUsize::new(0);
    let waiters: [Waiter; N] =
        core::array::from_fn(|i| Waiter::of_select(arms[i].0.elem(), &claim, i));
    for &i in order {
        // SAFETY: all channels are locked; the waiter is dequeued below before this frame ends.
        unsafe { arms[i].0.enqueue(&waiters[i]) };
    }
    let reason = if N == 0 {
        WaitReason::SelectNoCases
    } else {
        WaitReason::Select
    };
    if arms.iter().all(|arm| arm.0.bubble() != Some(0)) {
        sched::current().blocks_durably()
    }
    let commit = Commit {
        f: unlock_all::<N>,
        arg: &raw const *locks as usize,
    };
    // SAFETY: `locks` stays in the caller's frame, which this G leaves only after pass 3 has had all locks.
    unsafe { sched::gopark(off, reason, commit) };

    let off = PreemptGuard::new();
    locks.lock();
    for (arm, w) in arms.iter().zip(&waiters) {
        // SAFETY: all channels are locked.
        unsafe { arm.0.dequeue(w) };
    }
    locks.unlock();
    drop(off);
    // Acquire: pairs with the claim in `WaitQueue::pop`. Whoever claimed has readied us, so it is set.
    let winner = claim.load(Ordering::Acquire) - 1;
    let stage = if waiters[winner].success.get() {
        Stage::Done
    } else {
        Stage::Closed
    };
    arms[winner].0.set_stage(stage);
}

/// Runs on g0, state waiting.
///
/// # Safety
///
/// `arg` is the address of the `Locks` that this CPU has locked.
unsafe fn unlock_all<const N: usize>(_: GRef, arg: usize) -> bool {
    // Copied first: the frame in which it lies may go as soon as the last lock is free.
    // SAFETY: no lock is free yet, so the frame is there.
    let locks = unsafe { *(arg as *const Locks<N>) };
    locks.unlock();
    true
}

/// The channels' locks in order of their addresses, so that no two `select`s wait for each other; null for a channel
/// that is never ready. One that occurs twice stands there twice, side by side, and is locked once.
#[derive(Clone, Copy)]
struct Locks<const N: usize>([*const SpinLock<()>; N]);

impl<const N: usize> Locks<N> {
    fn of(arms: &[Arm<'_>; N]) -> Self {
        let mut locks = core::array::from_fn(|i| arms[i].0.lock());
        locks.sort_unstable();
        Locks(locks)
    }

    /// Each lock once.
    fn distinct(&self) -> impl Iterator<Item = &SpinLock<()>> {
        let mut last = core::ptr::null();
        self.0.iter().filter_map(move |&lock| {
            if core::ptr::eq(lock, core::mem::replace(&mut last, lock)) {
                return None;
            }
            // SAFETY: null, or the lock of a channel that the arms borrow. On the way out the selecting G may drop its
            // handles only once the last lock is free, and none is looked at after that.
            unsafe { lock.as_ref() }
        })
    }

    /// Takes all of them. The caller holds a guard of its own; their units of the count are given back at once.
    fn lock(&self) {
        for lock in self.distinct() {
            lock.lock().leave_locked();
            // SAFETY: the unit of the guard that was just given up; the caller's keeps the count above 0.
            drop(unsafe { PreemptGuard::adopt() });
        }
    }

    /// Frees all of them; the caller's guard is still held.
    fn unlock(&self) {
        for lock in self.distinct() {
            // SAFETY: `lock` took it on this CPU and gave its guard up; this is its only release.
            unsafe { lock.force_unlock() };
        }
    }
}

/// One CPU's seed, on a cache line of its own.
#[repr(align(64))]
struct Seed(AtomicU64);

static SEEDS: [Seed; arch::MAX_CPUS] = [const { Seed(AtomicU64::new(0)) }; arch::MAX_CPUS];

/// A random order of `0..N`, another one each time (Go: `cheaprandn` in `selectgo`).
fn random_order<const N: usize>(_on_this_cpu: &PreemptGuard) -> [usize; N] {
    let mut order: [usize; N] = core::array::from_fn(|i| i);
    if N < 2 {
        return order;
    }
    let cpu = arch::cpu_id();
    let seed = &SEEDS[cpu % arch::MAX_CPUS].0;
    let mut rng = match seed.load(Ordering::Relaxed) {
        0 => Rng::new(sched::this().cfg.seed.unwrap_or_else(sched::now_ns) ^ (cpu as u64) << 32),
        s => Rng::new(s),
    };
    for i in 1..N {
        order.swap(i, rng.below(i as u32 + 1) as usize);
    }
    // Relaxed: read and written by this CPU alone.
    seed.store(rng.next_u64() | 1, Ordering::Relaxed);
    order
}
