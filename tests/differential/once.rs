//! Work that is done once, whoever comes first, and whoever comes meanwhile.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

static RUNS: AtomicU32 = AtomicU32::new(0);

fn table() -> &'static [u32] {
    static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
    TABLE.get_or_init(|| {
        RUNS.fetch_add(1, SeqCst);
        (0..10).map(|i| i * i).collect()
    })
}

fn main() {
    let (once, ready, unready) = (Once::new(), AtomicBool::new(false), AtomicU32::new(0));
    scope(|s| {
        for _ in 0..20 {
            s.go(|| {
                once.call_once(|| {
                    for _ in 0..10 {
                        yield_now();
                    }
                    RUNS.fetch_add(1, SeqCst);
                    ready.store(true, SeqCst);
                });
                if !ready.load(SeqCst) {
                    unready.fetch_add(1, SeqCst);
                }
            });
        }
    });
    let early = unready.into_inner();
    println!("runs {} - came back too early {early}", RUNS.load(SeqCst));

    let askers: Vec<_> = (0..10).map(|i| spawn(move || table()[i])).collect();
    let sum: u32 = askers.into_iter().map(JoinHandle::join).sum();
    println!("sum {sum} - runs {}", RUNS.load(SeqCst));
}
