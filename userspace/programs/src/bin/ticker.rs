//! Sleeps again and again, and says how late it was woken. `ticker [MS] [COUNT]`.
#![no_std]
#![no_main]
use rt::prelude::*;
rt::main!(main);

fn main() {
    let ms = rt::args::number(0, "milliseconds", 10, 1..=10_000);
    let count = rt::args::number(1, "how often", 100, 1..=1_000_000);
    let pause = Duration::from_millis(ms);
    let mut late: Vec<Duration> = (0..count)
        .map(|_| {
            let start = now();
            sleep(pause);
            (now() - start).saturating_sub(pause)
        })
        .collect();
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() - 1) * percent / 100];
    println!(
        "{count} sleeps of {ms} ms: late by p50 {:.1?}, p99 {:.1?}, max {:.1?}",
        at(50),
        at(99),
        at(100)
    );
}
