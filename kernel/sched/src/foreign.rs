//! What a heap of timers was the last to keep, and whose drop runs code of the program: a goroutine does that, since it might park.
//! An M that has no P at that moment (it moves a virtual clock, or is in a blocking call) leaves that to the next that runs timers.

use crate::m::M;
use crate::sched::Sched;
use crate::timer::Timer;
use base::PreemptGuard;
use core::panic::Location;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::*};

extern crate alloc;
use alloc::boxed::Box;

/// Timers that wait for their drop.
pub(crate) struct Foreign(AtomicPtr<Left>);

struct Left {
    timer: Timer,
    next: *mut Left,
}

impl Foreign {
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    fn push(&self, timer: Timer) {
        let left = Box::into_raw(Box::new(Left {
            timer,
            next: null_mut(),
        }));
        let mut first = self.0.load(Relaxed);
        loop {
            // SAFETY: nobody else has it yet.
            unsafe { (*left).next = first }
            // Release: pairs with the swap in `drop_left`.
            match self.0.compare_exchange_weak(first, left, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }
}

impl Sched {
    /// A goroutine drops `last`. On g0, or with locks held.
    pub(crate) fn drop_foreign(&self, last: Timer) {
        let guard = PreemptGuard::new();
        if M::current(&guard).p().is_some() {
            crate::newproc(move || drop(last), Location::caller());
        } else {
            self.foreign.push(last)
        }
    }

    /// Likewise for what others could not. The caller holds a P.
    #[inline]
    pub(crate) fn drop_left(&self) {
        if !self.foreign.0.load(Relaxed).is_null() {
            self.drop_all_left()
        }
    }

    #[cold]
    fn drop_all_left(&self) {
        // Acquire: pairs with `push`. Whoever takes the list has all of it.
        let mut next = self.foreign.0.swap(null_mut(), Acquire);
        while !next.is_null() {
            // SAFETY: `push` made it from a box, and the swap made it ours.
            let Left { timer, next: later } = *unsafe { Box::from_raw(next) };
            next = later;
            crate::newproc(move || drop(timer), Location::caller());
        }
    }
}
