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

mod cases;

pub use cases::{Arm, RecvCase, SendCase, TimeoutCase};

use crate::waitq::Waiter;
use base::mutant::mutant;
use base::shim::{AtomicUsize, Ordering};
use base::{PreemptGuard, Rng, SpinLock};
use cases::Stage;
use core::sync::atomic as plain;
use sched::{Commit, GRef, WaitReason};

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
            arms[i].0.went_on();
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
    if mutant("select_unlock_early") {
        locks.unlock()
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
        if mutant("select_leaves_one_listed") {
            break;
        }
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
    if mutant("select_unlock_early") {
        return true;
    }
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
        if !mutant("select_locks_unsorted") {
            locks.sort_unstable()
        }
        Locks(locks)
    }

    /// Each lock once.
    fn distinct(&self) -> impl Iterator<Item = &SpinLock<()>> {
        let mut last = core::ptr::null();
        self.0.iter().filter_map(move |&lock| {
            let again = core::ptr::eq(lock, core::mem::replace(&mut last, lock));
            if again && !mutant("select_locks_twice") {
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
struct Seed(plain::AtomicU64);

static SEEDS: [Seed; arch::MAX_CPUS] = [const { Seed(plain::AtomicU64::new(0)) }; arch::MAX_CPUS];

/// A random order of `0..N`, another one each time (Go: `cheaprandn` in `selectgo`).
fn random_order<const N: usize>(_on_this_cpu: &PreemptGuard) -> [usize; N] {
    let mut order: [usize; N] = core::array::from_fn(|i| i);
    if N < 2 {
        return order;
    }
    #[cfg(ringo_loom)]
    if sched::models::reversed() {
        order.reverse()
    }
    #[cfg(not(ringo_loom))]
    shuffle(&mut order);
    order
}

/// In a random order, of a generator that is this CPU's alone: preemption is off.
fn shuffle<const N: usize>(order: &mut [usize; N]) {
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
}
