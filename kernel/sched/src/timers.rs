//! Timers of one P: a 4-ary heap behind a lock, and its earliest deadline in an atomic so that most looks need no lock
//! (Go: time.go, `timers`, `minWhenHeap`). What a stopped timer leaves behind, and how timers come to another P: `timers/stale.rs`.
//!
//! **I-TIMER** `min_when_ns` is never later than the earliest deadline in the heap while the lock is free.

use crate::timer::Timer;
use base::shim::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};
use base::{Rank, SpinLock};

extern crate alloc;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

mod stale;

/// No deadline.
pub const NEVER: u64 = u64::MAX;

/// What a sleep does when it is over: called on g0 with preemption off and no lock held; must not park.
pub type TimerFn = unsafe fn(arg: usize, now_ns: u64);

/// One pending timer.
struct Entry {
    when_ns: u64,
    /// Order of arrival: equal deadlines fire in it.
    seq: u64,
    what: What,
}

/// Who is told when it is due.
enum What {
    /// A function, once.
    Call(TimerFn, usize),
    /// A timer that can be stopped and reset; this is its entry of that number, or was. Boxed, so that sleepers' entries
    /// stay small.
    Timer(Box<(Arc<Timer>, u64)>),
}

impl What {
    fn release(self) {
        if let What::Timer(of) = self {
            of.0.release()
        }
    }
}

impl Entry {
    fn key(&self) -> (u64, u64) {
        (self.when_ns, self.seq)
    }

    /// Was its timer stopped, or set to an earlier time by another entry?
    fn is_stale(&self) -> bool {
        match &self.what {
            What::Call(..) => false,
            What::Timer(of) => !of.0.owns(of.1),
        }
    }
}

/// The timers of a P.
pub struct Timers {
    /// I-TIMER.
    min_when_ns: AtomicU64,
    len: AtomicU32,
    /// Stale entries (Go: `timers.zombies`). An entry's timer names the heap that has it, also when it moves (I-HOME), so this is
    /// right but for those that are on their way out.
    stale: AtomicI32,
    heap: SpinLock<Heap>,
}

struct Heap {
    entries: Vec<Entry>,
    seq: u64,
}

/// Where the runner finds what (`glass.rs`).
#[cfg(ringo_kernel)]
impl Timers {
    pub(crate) const MIN_WHEN: usize = core::mem::offset_of!(Timers, min_when_ns);
    pub(crate) const LEN: usize = core::mem::offset_of!(Timers, len);
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            min_when_ns: AtomicU64::new(NEVER),
            len: AtomicU32::new(0),
            stale: AtomicI32::new(0),
            heap: SpinLock::new(
                Rank::Timers,
                Heap {
                    entries: Vec::new(),
                    seq: 0,
                },
            ),
        }
    }

    /// Earliest deadline, [`NEVER`] if there is none. Takes no lock.
    #[inline]
    pub fn min_when_ns(&self) -> u64 {
        // Acquire: pairs with the store in `publish`.
        self.min_when_ns.load(Acquire)
    }

    /// How many are pending, those included that were stopped and not yet taken out.
    pub fn len(&self) -> u32 {
        self.len.load(Acquire)
    }
    /// None pending?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many will fire.
    pub fn live(&self) -> i64 {
        i64::from(self.len()) - i64::from(self.stale.load(Acquire))
    }

    /// Add a timer. True if it is now the earliest, so that a CPU's timer may have to be armed anew.
    ///
    /// # Safety
    /// `f(arg, _)` may be called once, by any M, until it was.
    pub unsafe fn add(&self, when_ns: u64, f: TimerFn, arg: usize) -> bool {
        self.push(when_ns, What::Call(f, arg))
    }

    /// The same for entry `n` of a timer that can be stopped.
    pub(crate) fn add_timer(&self, when_ns: u64, of: &Arc<Timer>, n: u64) -> bool {
        self.push(when_ns, What::Timer(Box::new((of.clone(), n))))
    }

    fn push(&self, when_ns: u64, what: What) -> bool {
        let mut h = self.heap.lock();
        let stale = if self.has_many_stale(&h) {
            self.take_stale(&mut h)
        } else {
            Vec::new()
        };
        h.seq += 1;
        let seq = h.seq;
        h.entries.push(Entry { when_ns, seq, what });
        let last = h.entries.len() - 1;
        h.sift_up(last);
        let first = h.entries[0].seq == seq;
        self.publish(&h);
        drop(h);
        stale.into_iter().for_each(|e| e.what.release());
        first
    }

    /// Take the earliest timer if it is due.
    fn pop_due(&self, now_ns: u64) -> Option<What> {
        let mut h = self.heap.lock();
        if h.entries.first()?.when_ns > now_ns {
            return None;
        }
        let what = h.pop();
        self.publish(&h);
        Some(what)
    }

    /// Deadline of the first that will fire. Stale entries before it are taken out.
    pub(crate) fn first_live_ns(&self) -> u64 {
        let mut stale = Vec::new();
        let mut h = self.heap.lock();
        let first = loop {
            match h.entries.first() {
                None => break NEVER,
                Some(e) if e.is_stale() => {
                    self.uncount_stale();
                    stale.push(h.pop())
                }
                Some(e) => break e.when_ns,
            }
        };
        self.publish(&h);
        drop(h);
        stale.into_iter().for_each(What::release);
        first
    }

    /// Run what is due; how many ran. The lock is free while they run.
    pub fn run_due(&self, now_ns: u64) -> u32 {
        let mut ran = 0;
        while self.min_when_ns() <= now_ns {
            match self.pop_due(now_ns) {
                // SAFETY: `add`'s promise; the entry left the heap, so this is the one call.
                Some(What::Call(f, arg)) => unsafe { f(arg, now_ns) },
                Some(What::Timer(of)) => {
                    let (timer, n) = *of;
                    let fired = timer.due(self, n, now_ns);
                    timer.release();
                    if !fired {
                        continue;
                    }
                }
                None => break,
            }
            ran += 1;
        }
        ran
    }

    /// Call `f` with what each keeps: for those who follow pointers.
    #[cfg(ringo_kernel)]
    pub(crate) fn for_each_arg(&self, mut f: impl FnMut(usize)) {
        for e in &self.heap.lock().entries {
            f(match &e.what {
                What::Call(_, arg) => *arg,
                What::Timer(of) => core::ptr::from_ref(&**of).addr(),
            })
        }
    }

    /// Deadline of the first timer that can wake somebody, where all who could receive are blocked: [`NEVER`] if none can.
    pub(crate) fn first_that_wakes_ns(&self) -> u64 {
        let h = self.heap.lock();
        let wakes = |e: &&Entry| match &e.what {
            What::Call(..) => true,
            What::Timer(of) => of.0.owns(of.1) && of.0.can_wake(),
        };
        let first = h.entries.iter().filter(wakes).map(|e| e.when_ns).min();
        first.unwrap_or(NEVER)
    }

    /// Run what is due by `to_ns`, each at its own time, of which `at` is told. Beats that nobody could receive are left out.
    pub(crate) fn run_until(&self, to_ns: u64, at: impl Fn(u64)) {
        while self.min_when_ns() <= to_ns {
            let when_ns = self.min_when_ns();
            match self.pop_due(to_ns) {
                // SAFETY: as in `run_due`.
                Some(What::Call(f, arg)) => unsafe {
                    at(when_ns);
                    f(arg, when_ns)
                },
                Some(What::Timer(of)) => {
                    let (timer, n) = *of;
                    let now_ns = if timer.is_periodic() && !timer.can_wake() {
                        to_ns
                    } else {
                        when_ns
                    };
                    at(now_ns);
                    timer.due(self, n, now_ns);
                    timer.release()
                }
                None => return,
            }
        }
    }

    /// Take everything out; nothing of it fires. Not on g0.
    pub(crate) fn clear(&self) {
        let mut h = self.heap.lock();
        let all = core::mem::take(&mut h.entries);
        self.publish(&h);
        drop(h);
        drop(all)
    }

    /// I-TIMER. Called with the lock held, after each change.
    fn publish(&self, h: &Heap) {
        self.len.store(h.entries.len() as u32, Release);
        // Release: pairs with the load in `min_when_ns`.
        self.min_when_ns
            .store(h.entries.first().map_or(NEVER, |e| e.when_ns), Release);
    }
}

impl Heap {
    fn sift_up(&mut self, mut i: usize) {
        while i > 0 {
            let parent = (i - 1) / 4;
            if self.entries[parent].key() <= self.entries[i].key() {
                break;
            }
            self.entries.swap(parent, i);
            i = parent;
        }
    }

    /// Take out the earliest of one or more.
    fn pop(&mut self) -> What {
        let first = self.entries.swap_remove(0);
        let mut i = 0;
        loop {
            let first = 4 * i + 1;
            let last = (first + 4).min(self.entries.len());
            let Some(least) = (first..last).min_by_key(|&c| self.entries[c].key()) else {
                break;
            };
            if self.entries[i].key() <= self.entries[least].key() {
                break;
            }
            self.entries.swap(i, least);
            i = least;
        }
        first.what
    }
}

#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests {
    use super::*;
    use base::Rng;
    use std::sync::Mutex;

    static FIRED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    unsafe fn note(arg: usize, _: u64) {
        FIRED.lock().unwrap().push(arg)
    }

    #[test]
    fn fires_in_deadline_order_equal_ones_as_they_came() {
        let t = Timers::new();
        let mut rng = Rng::new(3);
        let mut want = vec![];
        for i in 0..1000usize {
            let when = rng.below(50) as u64;
            want.push((when, i));
            // SAFETY: `note` may be called at any time.
            unsafe { t.add(when, note, i) };
        }
        want.sort();
        assert_eq!(t.min_when_ns(), want[0].0);
        assert_eq!(
            t.run_due(24) as usize,
            want.iter().filter(|w| w.0 <= 24).count()
        );
        assert!(t.min_when_ns() > 24);
        t.run_due(NEVER - 1);
        assert!(t.is_empty() && t.min_when_ns() == NEVER);
        assert_eq!(
            *FIRED.lock().unwrap(),
            want.iter().map(|w| w.1).collect::<Vec<_>>()
        );
    }

    #[test]
    fn only_the_earliest_asks_for_arming() {
        unsafe fn nothing(_: usize, _: u64) {}
        let t = Timers::new();
        // SAFETY: `nothing` may be called at any time.
        let firsts: Vec<bool> = [50, 60, 40, 40, 30]
            .iter()
            .map(|&w| unsafe { t.add(w, nothing, 0) })
            .collect();
        assert_eq!(firsts, [true, false, true, false, true]);
    }
}
