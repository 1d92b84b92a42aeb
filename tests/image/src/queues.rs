//! The queues themselves, on the machine's own CPUs.

use crate::param::param;
use crate::wait::{bump, chance, hold_until, spin};
use crate::{Outcome, Test, ensure, figure};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;
use sched::{G, GQueue, GRef, RING, RunQueue};
use trace::points::{self, Action};

pub const TESTS: &[Test] = &[
    ("ring_alone", ring_alone),
    ("ring_thieves", ring_thieves),
    ("gqueue", gqueue),
];

fn gs(n: usize) -> Vec<GRef> {
    let make = |i| {
        let g: &'static G = Box::leak(Box::new(G::new()));
        g.set_id(i as u64);
        GRef::new(g)
    };
    (0..n).map(make).collect()
}

/// Go: SchedLocalQueue, SchedLocalQueueSteal, and the overflow.
fn ring_alone() -> Outcome {
    let gs = gs(RING + 1);
    let (a, b) = (RunQueue::new(), RunQueue::new());
    for n in 0..=RING {
        gs[..n].iter().for_each(|g| a.put(*g).expect("a full ring"));
        ensure!(
            a.len() as usize == n && a.is_empty() == (n == 0),
            "length {} of {n}",
            a.len()
        );
        let mut first = 0;
        if n % 2 == 1
            && let Some((g, took)) = b.steal_from(&a, true, false)
        {
            ensure!(
                took as usize == n.div_ceil(2) && g.id() == u64::from(took) - 1,
                "{took} of {n} stolen"
            );
            for i in 0..u64::from(took) - 1 {
                ensure!(
                    b.get().map(|(g, _)| g.id()) == Some(i),
                    "stolen out of order"
                );
            }
            first = took as usize;
        }
        for i in first..n {
            ensure!(
                a.get().map(|(g, inherits)| (g.id(), inherits)) == Some((i as u64, false)),
                "out of order"
            );
        }
        ensure!(a.get().is_none() && b.get().is_none(), "not empty");
    }
    gs[..RING]
        .iter()
        .for_each(|g| a.put(*g).expect("a full ring"));
    ensure!(a.put(gs[RING]).is_err(), "a ring of {RING} took one more");
    ensure!(
        a.take_half().map(|q| q.len()) == Some(RING as u32 / 2),
        "half of the ring"
    );
    ensure!(a.put(gs[RING]).is_ok(), "no room after the overflow");
    Ok(())
}

/// One owner puts and gets, the other Ps steal: each G is taken exactly as often as it was put.
fn ring_thieves() -> Outcome {
    const GS: usize = 4096;
    static OWNED: OnceLock<RunQueue> = OnceLock::new();
    static DONE: AtomicBool = AtomicBool::new(false);
    static TAKEN: [AtomicU64; GS] = [const { AtomicU64::new(0) }; GS];
    static STOLEN: AtomicU64 = AtomicU64::new(0);
    static OVERFLOWS: AtomicU64 = AtomicU64::new(0);
    // The windows of both sides, drawn out.
    for point in ["runq.steal", "runq.overflow"] {
        points::arm(point, Action::DelayNs(200)).map_err(|e| e.to_string())?;
    }
    let victim = OWNED.get_or_init(RunQueue::new);
    let rounds = param("rounds", 100);
    let take = |g: GRef| bump(&TAKEN[g.id() as usize]);
    let thieves: Vec<_> = (1..sched::gomaxprocs() as u64)
        .map(|i| {
            spawn(move || {
                let own = RunQueue::new();
                let mut rng = chance(i);
                while !DONE.load(Relaxed) || !victim.is_empty() {
                    if let Some((g, n)) = own.steal_from(victim, rng.below(2) == 0, true) {
                        take(g);
                        STOLEN.fetch_add(n.into(), Relaxed);
                        while let Some((g, _)) = own.get() {
                            take(g);
                        }
                    }
                    // Now and then for long enough that the ring runs over.
                    let most = if rng.below(64) == 0 { 50_000 } else { 100 };
                    spin(rng.below(most));
                    // One P may have to run several of us.
                    if rng.below(1000) == 0 {
                        yield_now()
                    }
                }
            })
        })
        .collect();
    let gs = gs(GS);
    let mut rng = chance(0);
    for round in 0..rounds {
        for g in &gs {
            // A G may be queued once only: wait until its last turn is over.
            hold_until(|| {
                if TAKEN[g.id() as usize].load(Relaxed) < round
                    && let Some((g, _)) = victim.get()
                {
                    take(g);
                }
                TAKEN[g.id() as usize].load(Relaxed) == round
            });
            if rng.below(8) == 0 {
                if let Some(old) = victim.put_next(*g)
                    && victim.put(old).is_err()
                {
                    take(old);
                }
            } else if victim.put(*g).is_err() {
                take(*g);
                if let Some(mut half) = victim.take_half() {
                    bump(&OVERFLOWS);
                    while let Some(g) = half.pop() {
                        take(g);
                    }
                }
            }
            if rng.below(4) == 0
                && let Some((g, _)) = victim.get()
            {
                take(g);
            }
        }
    }
    while let Some((g, _)) = victim.get() {
        take(g);
    }
    DONE.store(true, Relaxed);
    thieves.into_iter().for_each(|t| t.join());
    let wrong = TAKEN.iter().filter(|n| n.load(Relaxed) != rounds).count();
    figure!("puts", rounds * GS as u64);
    figure!("overflows", OVERFLOWS.load(Relaxed));
    figure!("stolen", STOLEN.load(Relaxed));
    ensure!(
        wrong == 0,
        "{wrong} of {GS} Gs were not taken exactly {rounds} times"
    );
    ensure!(
        sched::gomaxprocs() == 1 || STOLEN.load(Relaxed) > 0,
        "nothing was stolen"
    );
    ensure!(OVERFLOWS.load(Relaxed) > 0, "the ring never ran over");
    Ok(())
}

fn gqueue() -> Outcome {
    let gs = gs(100);
    let (mut a, mut b) = (GQueue::new(), GQueue::new());
    gs[10..50].iter().for_each(|g| a.push_back(*g));
    gs[..10].iter().rev().for_each(|g| a.push_front(*g));
    gs[50..].iter().for_each(|g| b.push_back(*g));
    a.append(&mut b);
    a.append(&mut b);
    ensure!(
        a.len() == 100 && b.is_empty(),
        "lengths {} and {}",
        a.len(),
        b.len()
    );
    for i in 0..100 {
        ensure!(a.pop().map(|g| g.id()) == Some(i), "out of order at {i}");
    }
    ensure!(a.pop().is_none() && a.is_empty(), "not empty");
    Ok(())
}
