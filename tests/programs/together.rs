//! Goroutines that share and wait: scopes, handles, locks, groups, sleepers.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

fn sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 8 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (mut a, mut b) = (0, 0);
    scope(|s| {
        s.go(|| a = sum(left));
        b = sum(right);
    });
    a + b
}

fn main() {
    let numbers: Vec<u64> = (1..=1000).collect();
    println!("> sum {}", sum(&numbers));

    let handles: Vec<_> = (0..100u64).map(|i| spawn(move || i * i)).collect();
    println!(
        "> squares {}",
        handles.into_iter().map(JoinHandle::join).sum::<u64>()
    );

    let count = Arc::new(Mutex::new(0u64));
    let group = WaitGroup::new();
    for _ in 0..20 {
        let count = count.clone();
        group.go(move || {
            for _ in 0..50 {
                *count.lock() += 1;
                yield_now();
            }
        });
    }
    group.wait();
    println!("> counted {}", *count.lock());

    let turn = Arc::new((Mutex::new(0u64), Cond::new()));
    let group = WaitGroup::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    for me in (0..5).rev() {
        let (turn, order) = (turn.clone(), order.clone());
        group.go(move || {
            let mut now = turn.0.lock();
            while *now != me {
                now = turn.1.wait(now);
            }
            order.lock().push(me);
            *now += 1;
            turn.1.notify_all();
        });
    }
    group.wait();
    println!("> turns {:?}", *order.lock());

    static DONE: AtomicU64 = AtomicU64::new(0);
    let begin = Instant::now();
    for i in 0..10 {
        go(move || {
            sleep(Duration::from_millis(10 + i));
            DONE.fetch_add(1, SeqCst);
        });
    }
    while DONE.load(SeqCst) < 10 {
        sleep(Duration::from_millis(1));
    }
    println!("> slept {}", begin.elapsed() >= Duration::from_millis(19));
    println!("> alone again {}", num_goroutine() == 1);
}
