//! Says hello: from the main goroutine, and from one more for each P.
#![no_std]
#![no_main]
use ringo::machine;
use ringo::prelude::*;
ringo::main!(main);

fn main() {
    println!(
        "hello from goroutine {} on CPU {} of {}",
        current().id(),
        machine::cpu(),
        num_cpu()
    );
    let wg = WaitGroup::new();
    for _ in 0..machine::procs() {
        wg.go(|| {
            println!(
                "hello from goroutine {} on CPU {}",
                current().id(),
                machine::cpu()
            )
        });
    }
    wg.wait();
}
