//! `late sleep COUNT PERCENT`: sleeps of 1 ms; its exit code is that percentile of how late they ended, in tens of microseconds.
//! `late hog MS`: computes for so long.
#![no_std]
#![no_main]
use rt::prelude::*;
rt::main!(main);

fn late(count: u64, percent: usize) -> i32 {
    let each = Duration::from_millis(1);
    let mut late: Vec<_> = (0..count)
        .map(|_| {
            let due = now() + each;
            sleep(each);
            now().saturating_sub(due).as_micros() / 10
        })
        .collect();
    late.sort_unstable();
    late[(late.len() - 1) * percent / 100] as i32
}

fn main() {
    let number = rt::args::number(1, "count", 50, 1..=100_000);
    match args().next().as_deref() {
        Some("sleep") => {
            let percent = rt::args::number(2, "percent", 50, 0..=100);
            exit(late(number, percent as usize))
        }
        Some("hog") => {
            let end = now() + Duration::from_millis(number);
            while now() < end {}
        }
        _ => exit(-1),
    }
}
