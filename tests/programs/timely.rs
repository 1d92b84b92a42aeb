//! Timers, tickers, timeouts and contexts, as a program uses them.
#![no_std]
#![no_main]
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use ringo::prelude::*;
ringo::main!(main);

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn main() {
    let begin = Instant::now();
    select! {
        recv(never::<()>()) -> _nothing => println!("> wrong"),
        default(5 * MS) => println!("> timeout {}", begin.elapsed() >= 5 * MS),
    }
    let at = after(2 * MS).recv().unwrap();
    println!("> after {}", at - begin >= 7 * MS);

    let begin = Instant::now();
    let (ticker, timer) = (Ticker::new(3 * MS), Timer::new(HOUR));
    let (mut ticks, mut over) = (0, false);
    println!("> running {}", timer.reset(40 * MS));
    while !over || ticks == 0 {
        select! {
            recv(ticker.receiver()) -> _at => ticks += 1,
            recv(timer.receiver()) -> _at => over = true,
        }
    }
    println!("> ticks {}", ticks * 3 * MS <= begin.elapsed());
    println!("> stopped {}", timer.stop());

    let runs = Arc::new(AtomicU32::new(0));
    let count = runs.clone();
    let func = after_func(HOUR, move || {
        count.fetch_add(1, SeqCst);
    });
    println!("> sooner {}", func.reset(MS));
    while runs.load(SeqCst) == 0 {
        sleep(MS)
    }
    println!("> ran {} {}", runs.load(SeqCst), func.stop());

    let (all, cancel) = Context::background().with_cancel();
    let (part, _cancel_part) = all.with_timeout(5 * MS);
    let (tx, rx) = chan(2);
    for ctx in [all.clone(), part] {
        let tx = tx.clone();
        ctx.clone().after_func(move || tx.send(ctx.err()).unwrap());
    }
    println!("> first {:?}", rx.recv().unwrap());
    cancel.cancel_cause("enough");
    println!("> then {:?}, {}", rx.recv().unwrap(), all.cause().unwrap());
}
