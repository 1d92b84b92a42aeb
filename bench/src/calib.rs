//! How fast plain code runs here: what the harness for Go measures as well, so that two machines can be told apart from two
//! schedulers.

use crate::{Params, Sample};
use arch::plain::{self, PLACES};
use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use ringo::machine;
use ringo::prelude::*;

/// `n` steps of a linear congruential generator: a multiplication and an addition that wait for the step before. What the compiler would
/// make of it is other code than Go's.
#[inline(never)]
pub fn spin(n: u64) -> u64 {
    plain::lcg_steps(n | 1, n)
}

/// 20,000,000 such steps.
pub fn alu(p: &Params) -> Sample {
    let n = p.scaled(20_000_000);
    let begin = Instant::now();
    black_box(spin(black_box(n)));
    Sample::timed(begin.elapsed(), n).word("what", "LCG step x=x*A+C")
}

/// 10,000,000 loads, each from the place that the one before has read; with Go's check of the place, as Go has it.
pub fn mem(p: &Params) -> Sample {
    let (n, next) = (p.scaled(10_000_000), places());
    let begin = Instant::now();
    black_box(plain::dependent_loads(&next, n));
    Sample::timed(begin.elapsed(), n).word("what", "dependent load, 32 KiB")
}

/// `n` loads within 32 KiB, as few instructions as there can be.
pub fn loads(n: u64) -> Sample {
    let next = black_box(places());
    let (mut at, begin) = (0, Instant::now());
    for _ in 0..n {
        at = next[at & (PLACES - 1)]
    }
    black_box(at);
    Sample::timed(begin.elapsed(), n)
}

/// Each place says where to look next.
fn places() -> Box<[usize; PLACES]> {
    let mut next = Box::new([0; PLACES]);
    for (i, place) in next.iter_mut().enumerate() {
        *place = (i * 1021 + 7) % PLACES
    }
    next
}

/// 5,000,000 additions to a word that nobody else has.
pub fn atomic_add(p: &Params) -> Sample {
    let (n, word) = (p.scaled(5_000_000), AtomicU64::new(0));
    let begin = Instant::now();
    for _ in 0..n {
        black_box(word.fetch_add(1, SeqCst));
    }
    let elapsed = begin.elapsed();
    assert_eq!(word.into_inner(), n);
    Sample::timed(elapsed, n).word("what", "uncontended atomic add")
}

/// The same by compare and swap.
pub fn atomic_cas(p: &Params) -> Sample {
    let (n, word) = (p.scaled(5_000_000), AtomicU64::new(0));
    let begin = Instant::now();
    for i in 0..n {
        _ = black_box(word.compare_exchange(i, i + 1, SeqCst, SeqCst))
    }
    let elapsed = begin.elapsed();
    assert_eq!(word.into_inner(), n);
    Sample::timed(elapsed, n).word("what", "uncontended CAS")
}

/// 500,000 looks at the clock.
pub fn nanotime(p: &Params) -> Sample {
    let n = p.scaled(500_000);
    let begin = Instant::now();
    for _ in 0..n {
        black_box(Instant::now());
    }
    Sample::timed(begin.elapsed(), n).word("what", "Instant::now()")
}

/// No CPU yet.
const NOWHERE: usize = usize::MAX;

/// 20,000 round trips of two goroutines over channels without room, each locked to a CPU of its own where there are two Ps. The
/// CPUs halt while they have nothing to do.
pub fn thread_pingpong(p: &Params) -> Sample {
    let n = p.scaled(20_000);
    let ((ping, pinged), (pong, ponged)) = (chan::<()>(0), chan::<()>(0));
    let (mine, theirs) = (
        Arc::new(AtomicUsize::new(NOWHERE)),
        Arc::new(AtomicUsize::new(NOWHERE)),
    );
    let apart = p.procs > 1;
    let there = (mine.clone(), theirs.clone());
    let other = spawn(move || {
        let (mine, theirs) = there;
        lock_to_cpu();
        // Acquire pairs with the Release below. The one that waits keeps its CPU busy, so another one comes and takes this.
        while apart && [NOWHERE, machine::cpu()].contains(&mine.load(Acquire)) {
            unlock_from_cpu();
            yield_now();
            lock_to_cpu()
        }
        theirs.store(machine::cpu(), Release);
        for _ in 0..n {
            pinged.recv();
            pong.send(()).expect("it is waited for")
        }
        unlock_from_cpu()
    });
    let timed = spawn(move || {
        lock_to_cpu();
        mine.store(machine::cpu(), Release);
        // Acquire pairs with the Release above.
        while theirs.load(Acquire) == NOWHERE {
            if apart { spin_loop() } else { yield_now() }
        }
        let begin = Instant::now();
        for _ in 0..n {
            ping.send(()).expect("it is waited for");
            ponged.recv();
        }
        let elapsed = begin.elapsed();
        unlock_from_cpu();
        elapsed
    });
    let elapsed = timed.join();
    other.join();
    Sample::timed(elapsed, n).word(
        "what",
        "round trip, 2 goroutines locked to CPUs, unbuffered channels",
    )
}
