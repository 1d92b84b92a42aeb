//! Pairs of park and ready, as many as one likes, none lost.
//!
//! Nothing finds a lost one after the fact where neither slices nor sysmon are on: it leaves a G that waits for ever.

use crate::param::param;
use crate::preempt::poke_one;
use crate::wait::{chance, hold_until, until};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use base::{Rank, SpinLock};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::machine::counts;
use ringo::prelude::*;

pub const TESTS: &[Test] = &[("pairs", pairs)];

/// Interrupts for nothing, and second ones, around each wake-up.
static NOISE: AtomicBool = AtomicBool::new(false);

fn noise() {
    if NOISE.load(Relaxed) {
        let mut rng = chance(sched::now_ns());
        (0..rng.below(3)).for_each(|_| poke_one(&mut rng))
    }
}

/// Where a G waits for another.
struct Place {
    waiter: SpinLock<Option<sched::GRef>>,
    /// How often somebody came back from here.
    back: AtomicU64,
}

impl Place {
    const fn new() -> Place {
        Place {
            waiter: SpinLock::new(Rank::Channel, None),
            back: AtomicU64::new(0),
        }
    }

    /// Parks until [`Place::wake`].
    fn wait(&self) {
        let mut waiter = self.waiter.lock();
        assert!(waiter.is_none(), "somebody waits here already");
        *waiter = Some(sched::current());
        sched::park_unlock(waiter, sched::WaitReason::Select);
        self.back.fetch_add(1, AcqRel);
    }

    fn is_taken(&self) -> bool {
        self.waiter.lock().is_some()
    }

    /// Readies the G that waits here, or is about to.
    fn wake(&self) {
        hold_until(|| self.is_taken());
        noise();
        let g = self.waiter.lock().take().expect("nobody else wakes it");
        sched::goready(g);
        noise()
    }
}

/// Two Gs that ready each other and park, `n` times each.
fn ping_pong(n: u64) {
    let places = Arc::new([Place::new(), Place::new()]);
    let theirs = places.clone();
    let other = spawn(move || {
        for _ in 0..n {
            theirs[1].wait();
            theirs[0].wake()
        }
    });
    for _ in 0..n {
        places[1].wake();
        places[0].wait()
    }
    other.join();
    assert!(
        places.iter().all(|p| p.back.load(Acquire) == n),
        "a wake-up too many, or too few"
    );
}

/// Readies a G `n` times, each time after its CPU has halted for want of it; the caller keeps its own CPU throughout.
pub fn through_halts(n: u64) {
    let place = Arc::new(Place::new());
    let theirs = place.clone();
    let sleeper = spawn(move || (0..n).for_each(|_| theirs.wait()));
    let mut halts = 0;
    for _ in 0..n {
        hold_until(|| place.is_taken() && counts().halts > halts);
        halts = counts().halts;
        place.wake()
    }
    hold_until(|| sleeper.is_finished());
    assert_eq!(
        place.back.load(Acquire),
        n,
        "a wake-up too many, or too few"
    );
    sleeper.join()
}

/// The same where there is one P: the clock readies, out of the halt. How many times it was done until `n` halts were seen:
/// a timer may be due before its CPU has come to the halt.
fn by_clock(n: u64) -> u64 {
    let (before, mut sleeps) = (counts().halts, 0);
    while counts().halts - before < n {
        sleep(Duration::from_micros(50));
        sleeps += 1;
    }
    sleeps
}

/// `pairs` in all, `halts` of them through the halt of a CPU.
fn pairs() -> Outcome {
    const PARTS: u64 = 10;
    let (all, through) = (param("pairs", 1_000_000), param("halts", 10_000));
    NOISE.store(param("noise", 0) != 0, Relaxed);
    let couples = 1.max(sched::gomaxprocs() as u64 / 2);
    let fast = all.saturating_sub(through) / (2 * couples * PARTS);
    let (mut made, mut halted) = (0, 0);
    for _ in 0..PARTS {
        let others: Vec<_> = (1..couples)
            .map(|_| spawn(move || ping_pong(fast)))
            .collect();
        ping_pong(fast);
        others.into_iter().for_each(|o| o.join());
        until(|| num_goroutine() == 1);
        made += 2 * couples * fast;
        let before = counts().halts;
        made += if sched::gomaxprocs() > 1 {
            through_halts(through / PARTS);
            through / PARTS
        } else {
            by_clock(through / PARTS)
        };
        halted += counts().halts - before;
    }
    figure!("pairs", made);
    figure!("halts", halted);
    ensure!(halted >= through, "{halted} halts of {through}");
    Ok(())
}
