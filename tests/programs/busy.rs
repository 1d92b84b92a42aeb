//! One goroutine computes, three sleep: a machine to look at. Its argument is how long, in milliseconds.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn main() {
    let ms = args().next().and_then(|a| a.parse().ok()).unwrap_or(1000);
    let end = Instant::now() + Duration::from_millis(ms);
    let wg = WaitGroup::new();
    for _ in 0..3 {
        wg.go(move || sleep(end - Instant::now()));
    }
    while Instant::now() < end {
        core::hint::spin_loop()
    }
    wg.wait();
    println!("done");
}
