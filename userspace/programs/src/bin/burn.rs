//! Computes for some seconds without calling anything: only preemption takes the CPU from it. `burn [SECONDS]`: 10 if not said.
#![no_std]
#![no_main]
use core::arch::x86_64::_rdtsc;
use core::hint::black_box;
use rt::prelude::*;
rt::main!(main);

/// Rounds between two looks at the CPU's clock, which is no call: an instruction.
const ROUNDS: u64 = 1 << 16;

fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has it, and the kernel does not forbid it.
    unsafe { _rdtsc() }
}

/// A step of a linear congruential generator: each needs the one before.
fn step(x: u64) -> u64 {
    x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)
}

/// How often the CPU's clock ticks in a second. It is measured against the kernel's.
fn ticks_per_second() -> u64 {
    let (start, first) = (now(), ticks());
    sleep(Duration::from_millis(20));
    let (took, ticked) = (now() - start, ticks() - first);
    (u128::from(ticked) * 1_000_000_000 / took.as_nanos().max(1)) as u64
}

fn main() {
    let seconds = rt::args::number(0, "seconds", 10, 1..=1_000_000);
    let per_second = ticks_per_second();
    let end = ticks() + seconds * per_second;
    let (mut rounds, mut x, mut last, mut longest) = (0, 1, ticks(), 0);
    while last < end {
        for _ in 0..ROUNDS {
            x = step(black_box(x));
        }
        rounds += ROUNDS;
        let at = ticks();
        longest = longest.max(at.saturating_sub(last));
        last = at;
    }
    let longest = Duration::from_secs_f64(longest as f64 / per_second as f64);
    println!("burned {seconds} s: {rounds} rounds, the longest 65,536 of them in {longest:.1?}");
}
