//! Ways to wait, and chance.

use base::rng::Rng;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use ringo::prelude::*;

/// Gives way until `done`: for conditions that need this P.
pub fn until(done: impl Fn() -> bool) {
    while !done() {
        yield_now()
    }
}

/// Keeps its CPU until `done`, which another P has to bring about: nothing that this G does helps. On one P it gives way.
pub fn hold_until(done: impl Fn() -> bool) {
    if sched::gomaxprocs() == 1 {
        return until(done);
    }
    let mut round = 0u32;
    while !done() {
        round = round.wrapping_add(1);
        // `pause` is dear under TCG, but under counted instructions it is what lets the other CPUs on.
        if round.is_multiple_of(64) {
            core::hint::spin_loop()
        }
    }
}

/// Keeps its CPU until all others halt, and their Ps are idle: nobody is just about to look for work.
pub fn others_halt() {
    let s = sched::this();
    let others = num_cpu() - 1;
    hold_until(|| {
        s.npidle() as usize + 1 == sched::gomaxprocs()
            && s.allm[..=others].iter().filter(|m| m.is_halted()).count() == others
    })
}

/// As many Gs as there are Ps meet, each on a P of its own: all of them are in use.
pub fn all_ps_meet() {
    meet(sched::gomaxprocs() as u64)
}

/// So many Gs run at the same instant.
pub fn meet(n: u64) {
    let come = Arc::new(AtomicU64::new(0));
    let gs: Vec<_> = (0..n)
        .map(|_| {
            let come = come.clone();
            spawn(move || {
                bump(&come);
                hold_until(|| come.load(Acquire) >= n)
            })
        })
        .collect();
    gs.into_iter().for_each(|g| g.join());
}

/// A loop of about that many instructions.
pub fn spin(n: u32) {
    for i in 0..n {
        core::hint::black_box(i);
    }
}

/// A generator of its own for each caller, from the seed of the run where there is one.
pub fn chance(stream: u64) -> Rng {
    let seed = ringo::start::config().seed.unwrap_or(0x5eed);
    Rng::new(seed.wrapping_mul(0x9e37_79b9) ^ stream << 17 ^ stream)
}

/// Raises a counter; what it was.
pub fn bump(counter: &AtomicU64) -> u64 {
    counter.fetch_add(1, Relaxed)
}

/// Does this machine take the CPU away from a G?
pub fn preempts() -> bool {
    ringo::machine::preempts()
}

/// As many Gs as there are Ps do nothing but yield, until they are told to stop.
pub fn yielders(stop: &'static AtomicBool) -> Vec<JoinHandle<()>> {
    let yielder = |_| {
        spawn(|| {
            while !stop.load(Relaxed) {
                yield_now()
            }
        })
    };
    (0..gomaxprocs(0)).map(yielder).collect()
}
