//! A goroutine panics: the program ends with a report of what every CPU ran. Ends with status 2.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

/// Somebody to be seen in the report. On the host machine nobody is preempted, so there it gives way by itself.
fn busy() {
    loop {
        if ringo::machine::IS_HOST {
            yield_now();
        }
        core::hint::spin_loop();
    }
}

#[inline(never)]
fn average(of: &[u32]) -> u32 {
    let n = of.len() as u32;
    of.iter().sum::<u32>() / n
}

fn main() {
    go(busy);
    sleep(Duration::from_millis(5));
    let h = spawn(|| {
        let nothing: Vec<u32> = Vec::new();
        average(&nothing)
    });
    println!("the average of nothing is {}", h.join());
}
