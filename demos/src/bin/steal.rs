//! All work is born on one P; the others come and take it. `-- N`: pieces of work.
#![no_std]
#![no_main]
use ringo::machine;
use ringo::prelude::*;
ringo::main!(main);

/// A piece of work: some tenths of a millisecond of arithmetic, and the CPU that it ended on.
fn work(seed: u64) -> usize {
    let mut x = seed;
    for _ in 0..100_000 {
        // The black box keeps the compiler from finding the result without the loop.
        x = core::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1));
    }
    machine::cpu()
}

fn main() -> Result<(), String> {
    let (cpus, procs) = (num_cpu(), machine::procs());
    let pieces = ringo::args::number("pieces of work", 200 * procs as u64, 1..=100_000);
    let here = machine::cpu();
    let before = machine::counts();
    let start = Instant::now();
    let hs: Vec<_> = (0..pieces).map(|i| spawn(move || work(i))).collect();
    let mut ran = vec![0u64; cpus];
    for h in hs {
        ran[h.join()] += 1;
    }
    let took = start.elapsed();
    let after = machine::counts();

    println!("{pieces} pieces of work, all started on CPU {here}, done in {took:.1?}");
    for (cpu, n) in ran.iter().enumerate() {
        println!("CPU {cpu}: {n}");
    }
    let (steals, stolen) = (after.steals - before.steals, after.stolen - before.stolen);
    println!("{steals} steals moved {stolen} goroutines");

    let busy = ran.iter().filter(|&&n| n > 0).count();
    if ran.iter().sum::<u64>() != pieces {
        return Err("pieces of work were lost".to_string());
    }
    if !machine::steals() {
        println!("stealing is off: what ran elsewhere had gone over the global queue");
        return Ok(());
    }
    // With more CPUs than the host has, some come too late for their share.
    let wanted = if procs <= 4 { procs } else { procs / 2 };
    if busy < wanted && pieces >= 200 * procs as u64 {
        return Err(format!(
            "only {busy} CPUs worked, with {procs} Ps and enough for all"
        ));
    }
    Ok(())
}
