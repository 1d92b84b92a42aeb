//! Ten jobs, at most three of them at a time, and one that does not want to wait.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

static PERMITS: Semaphore = Semaphore::new(3);

#[derive(Default)]
struct Count {
    running: u32,
    most: u32,
}

fn job(count: &Mutex<Count>) {
    PERMITS.acquire();
    {
        let mut count = count.lock();
        count.running += 1;
        count.most = count.most.max(count.running);
    }
    sleep(Duration::from_millis(20));
    count.lock().running -= 1;
    PERMITS.release();
}

fn main() {
    let count = Mutex::<Count>::default();
    let begin = Instant::now();
    let show = || {
        let free = PERMITS.available();
        println!("free: {free} - one more at once: {}", PERMITS.try_acquire());
    };
    scope(|jobs| {
        for _ in 0..10 {
            jobs.go(|| job(&count));
        }
        sleep(Duration::from_millis(10));
        show();
    });
    let rounds = begin.elapsed().as_millis() / 20;
    println!(
        "at most {} at a time, in rounds: {rounds}",
        count.lock().most
    );
    show();
}
