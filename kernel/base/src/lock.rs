//! Spin locks with ranks.
//!
//! A lock is held with preemption off (the guard holds a unit of the count), so its holder is never switched away by
//! us; the host may still take a vCPU off the processor, which is why no ticket lock is used: waiters that cannot run
//! would block those that can.
//!
//! **I-RANK** A CPU takes locks in rising order of [`Rank`]; two of one rank only where the rank says so. Builds with debug
//! assertions check it, the tests' image among them. (Go: lockrank.go, likewise in builds of its own.) Every lock of the
//! kernel is one of these, and so has a rank; those of the machine layer (`arch`) are below all: nothing is taken under them.

mod waits;

pub use waits::{LockWaits, lock_waits};

use crate::guard::PreemptGuard;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
#[cfg(not(ringo_loom))]
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Order in which locks may nest: a lock may be taken while locks of lower ranks are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// One timer that can be stopped: it sends into a channel while it is locked.
    Timer = 0,
    /// What programs talk through: channels (select takes several, by address), wait lists of `sync`.
    Channel = 1,
    /// Join and exit bookkeeping.
    Join = 2,
    /// What a network card has received: held while the stack looks at it.
    NetReceiver = 3,
    /// One TCP connection.
    NetConn = 4,
    /// Tables of the network's stack: who has which port, who lives at which address, what falls due when.
    NetTable = 5,
    /// One direction of a network card.
    NetDevice = 6,
    /// A P's timers.
    Timers = 7,
    /// The scheduler's global queue and idle lists (Go: `sched.lock`).
    Sched = 8,
    /// List of all Gs.
    AllGs = 9,
    /// What a process of ring 3 has mapped: who waits for a word of it looks at the word while its list is locked.
    UserSpace = 10,
    /// Stack slots.
    Stack = 11,
    /// Heap: a size class or the large-object heap.
    Heap = 12,
    /// Page tables.
    PageTable = 13,
    /// Page frames.
    Frames = 14,
    /// Leaf locks: logs, consoles.
    Leaf = 15,
}

impl Rank {
    /// The ranks in their order.
    pub const ALL: [Rank; 16] = [
        Self::Timer,
        Self::Channel,
        Self::Join,
        Self::NetReceiver,
        Self::NetConn,
        Self::NetTable,
        Self::NetDevice,
        Self::Timers,
        Self::Sched,
        Self::AllGs,
        Self::UserSpace,
        Self::Stack,
        Self::Heap,
        Self::PageTable,
        Self::Frames,
        Self::Leaf,
    ];
}

#[cfg(not(any(ringo_loom, ringo_shuttle)))]
type Inner<T> = spin::mutex::SpinMutex<T>;
#[cfg(any(ringo_loom, ringo_shuttle))]
type Inner<T> = crate::model_lock::ModelLock<T>;
#[cfg(not(any(ringo_loom, ringo_shuttle)))]
type InnerGuard<'a, T> = spin::mutex::SpinMutexGuard<'a, T>;
#[cfg(any(ringo_loom, ringo_shuttle))]
type InnerGuard<'a, T> = crate::model_lock::ModelGuard<'a, T>;

/// A spin lock that keeps preemption off while it is held.
pub struct SpinLock<T> {
    rank: Rank,
    inner: Inner<T>,
}

impl<T> SpinLock<T> {
    crate::const_fn! {
        /// A free lock.
        pub const fn new(rank: Rank, value: T) -> Self {
            Self {
                rank,
                inner: Inner::new(value),
            }
        }
    }

    /// Wait for the lock and take it.
    ///
    /// # Panics
    /// In debug builds, if this CPU already holds a lock of a higher rank, or of the same rank other than `Channel`.
    #[inline]
    pub fn lock(&self) -> SpinGuard<'_, T> {
        let count = PreemptGuard::new();
        held::enter(self.rank);
        #[cfg(not(any(ringo_loom, ringo_shuttle)))]
        let data = match self.inner.try_lock() {
            Some(data) => data,
            None => self.wait(),
        };
        #[cfg(any(ringo_loom, ringo_shuttle))]
        let data = self.inner.lock();
        SpinGuard {
            lock: self,
            data: ManuallyDrop::new(data),
            count: ManuallyDrop::new(count),
        }
    }

    /// Somebody has the lock: wait for it, and note for how long.
    #[cfg(not(any(ringo_loom, ringo_shuttle)))]
    #[cold]
    #[inline(never)]
    fn wait(&self) -> InnerGuard<'_, T> {
        let since_ns = arch::now_ns();
        let mut round = 0;
        loop {
            while self.inner.is_locked() {
                crate::shim::spin_wait(round);
                round = round.wrapping_add(1);
            }
            // Before it is taken: others wait for it.
            let ns = arch::now_ns().saturating_sub(since_ns);
            if let Some(data) = self.inner.try_lock() {
                waits::note(self.rank, ns);
                return data;
            }
        }
    }

    /// Take the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<SpinGuard<'_, T>> {
        let count = PreemptGuard::new();
        let data = self.inner.try_lock()?;
        held::enter(self.rank);
        Some(SpinGuard {
            lock: self,
            data: ManuallyDrop::new(data),
            count: ManuallyDrop::new(count),
        })
    }

    /// Release a lock whose guard was given up with [`SpinGuard::leave_locked`]. The preemption count is not touched.
    ///
    /// # Safety
    /// The lock is held by a guard that was given up, and this is its only release, on the CPU that took it.
    #[inline]
    pub unsafe fn force_unlock(&self) {
        held::leave(self.rank);
        // SAFETY: the caller owns the given-up guard.
        unsafe { self.inner.force_unlock() }
    }

    /// Is the lock held by anybody? Only a hint.
    #[cfg(not(any(ringo_loom, ringo_shuttle)))]
    pub fn is_locked(&self) -> bool {
        self.inner.is_locked()
    }
}

/// The right to the locked value. Holds a unit of the preemption count.
pub struct SpinGuard<'a, T> {
    lock: &'a SpinLock<T>,
    data: ManuallyDrop<InnerGuard<'a, T>>,
    count: ManuallyDrop<PreemptGuard>,
}

impl<'a, T> SpinGuard<'a, T> {
    /// Leave the lock held and the preemption count raised; whoever goes on releases both
    /// ([`SpinLock::force_unlock`], [`PreemptGuard::adopt`]). Parking uses it: the lock is dropped on g0, after the
    /// G's state is `waiting` (I-G0).
    pub fn leave_locked(self) {
        let _left = ManuallyDrop::new(self);
        #[cfg(any(ringo_loom, ringo_shuttle))]
        // SAFETY: moved out once; `_left` is not dropped.
        unsafe { core::ptr::read(&raw const *_left.data) }.give_up();
    }

    /// The lock that is held.
    pub fn lock_ptr(&self) -> *const SpinLock<T> {
        self.lock
    }

    /// Proof that preemption is off.
    pub fn preempt(&self) -> &PreemptGuard {
        &self.count
    }
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.data
    }
}
impl<T> DerefMut for SpinGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.data
    }
}
impl<T> Drop for SpinGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        held::leave(self.lock.rank);
        // SAFETY: both fields are dropped once, here: first the lock, then the count, so that pending work is served
        // with the lock free.
        unsafe {
            ManuallyDrop::drop(&mut self.data);
            at_unlock();
            ManuallyDrop::drop(&mut self.count);
        }
    }
}

/// Debug builds: every so many releases of a lock, 0: none.
#[cfg(not(ringo_loom))]
static PREEMPT_EVERY: AtomicU32 = AtomicU32::new(0);

/// For tests, in debug builds only: from now on every `n`-th release of any lock is taken for the end of the running G's slice; 0
/// ends that.
#[cfg(not(ringo_loom))]
pub fn preempt_at_unlock(n: u32) {
    PREEMPT_EVERY.store(n, Relaxed)
}

/// The lock is free, preemption is still off.
#[inline(always)]
fn at_unlock() {
    #[cfg(all(debug_assertions, not(any(ringo_loom, ringo_shuttle))))]
    if PREEMPT_EVERY.load(Relaxed) != 0 {
        preempt_now_and_then()
    }
}

#[cfg(all(debug_assertions, not(any(ringo_loom, ringo_shuttle))))]
#[cold]
fn preempt_now_and_then() {
    static RELEASES: AtomicU32 = AtomicU32::new(0);
    let every = PREEMPT_EVERY.load(Relaxed).max(1);
    if RELEASES.fetch_add(1, Relaxed).is_multiple_of(every) {
        arch::raise_pending(arch::PENDING_PREEMPT)
    }
}

/// Which ranks this CPU holds: I-RANK, checked in debug builds of the kernel and of the host machine.
#[cfg(all(debug_assertions, not(any(ringo_loom, ringo_shuttle))))]
mod held {
    use super::Rank;

    #[cfg(ringo_kernel)]
    mod store {
        use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
        static HELD: [[AtomicU32; 16]; arch::MAX_CPUS] =
            [const { [const { AtomicU32::new(0) }; 16] }; arch::MAX_CPUS];
        /// Locks of `rank` that this CPU holds; changed by the CPU itself with preemption off (I-COUNT).
        pub fn count(rank: usize) -> u32 {
            HELD[arch::cpu_id()][rank].load(Relaxed)
        }
        pub fn set(rank: usize, n: u32) {
            HELD[arch::cpu_id()][rank].store(n, Relaxed)
        }
    }
    #[cfg(not(ringo_kernel))]
    mod store {
        use std::cell::Cell;
        std::thread_local!(static HELD: Cell<[u32; 16]> = const { Cell::new([0; 16]) });
        #[inline(never)]
        pub fn count(rank: usize) -> u32 {
            HELD.with(|h| h.get()[rank])
        }
        #[inline(never)]
        pub fn set(rank: usize, n: u32) {
            HELD.with(|h| {
                let mut a = h.get();
                a[rank] = n;
                h.set(a)
            })
        }
    }

    pub fn enter(rank: Rank) {
        let r = rank as usize;
        for above in Rank::ALL.into_iter().skip(r + 1) {
            assert!(
                store::count(above as usize) == 0,
                "lock order: a lock of rank {rank:?} is taken while one of rank {above:?} is held"
            );
        }
        assert!(
            rank == Rank::Channel || store::count(r) == 0,
            "lock order: two locks of rank {rank:?} are taken at once"
        );
        store::set(r, store::count(r) + 1)
    }
    pub fn leave(rank: Rank) {
        let n = store::count(rank as usize);
        assert!(
            n > 0,
            "a lock of rank {rank:?} is released that this CPU does not hold"
        );
        store::set(rank as usize, n - 1)
    }
}
#[cfg(not(all(debug_assertions, not(any(ringo_loom, ringo_shuttle)))))]
mod held {
    use super::Rank;
    #[inline(always)]
    pub fn enter(_: Rank) {}
    #[inline(always)]
    pub fn leave(_: Rank) {}
}

#[cfg(all(test, debug_assertions, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::{Rank, SpinLock};

    #[test]
    fn ranks_are_in_order() {
        assert!(Rank::ALL.is_sorted_by(|a, b| a < b));
        assert!((0..).zip(Rank::ALL).all(|(i, rank)| rank as usize == i));
    }

    #[test]
    fn rising_order_is_fine_and_the_order_of_release_is_free() {
        let all = Rank::ALL.map(|rank| SpinLock::new(rank, 0));
        for _ in 0..2 {
            let held: Vec<_> = all.iter().map(SpinLock::lock).collect();
            drop(held); // the lowest first
        }
        let (a, b) = (
            SpinLock::new(Rank::Channel, 1),
            SpinLock::new(Rank::Channel, 2),
        );
        assert_eq!(*a.lock() + *b.lock(), 3); // select takes several
    }

    /// Each pair of ranks that is in the wrong order, and each rank beside itself but the one that allows it.
    #[test]
    fn falling_order_is_named() {
        for (i, high) in Rank::ALL.into_iter().enumerate() {
            for low in Rank::ALL.into_iter().take(i + 1) {
                let says = move || {
                    let (first, second) = (SpinLock::new(high, ()), SpinLock::new(low, ()));
                    let _first = first.lock();
                    let _second = second.lock();
                };
                // A thread of its own: the ranks that it holds end with it.
                let ended = std::thread::spawn(says).join();
                let want = if high != low {
                    format!(
                        "lock order: a lock of rank {low:?} is taken while one of rank {high:?} is held"
                    )
                } else {
                    format!("lock order: two locks of rank {low:?} are taken at once")
                };
                match ended {
                    Ok(()) => assert!(low == Rank::Channel && high == low, "{high:?}, {low:?}"),
                    Err(e) => assert_eq!(e.downcast_ref::<String>(), Some(&want)),
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "a lock of rank Heap is taken while one of rank Frames is held")]
    fn a_try_counts_as_well() {
        let (frames, heap) = (
            SpinLock::new(Rank::Frames, ()),
            SpinLock::new(Rank::Heap, ()),
        );
        let _frames = frames.lock();
        let _heap = heap.try_lock();
    }
}
