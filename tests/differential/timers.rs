//! What stop and reset of timers answer, and what comes on their channels.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ready(t: &Timer) -> bool {
    t.receiver().try_recv().is_ok()
}

fn main() {
    let t = Timer::new(ms(20));
    let (now, c) = (ready(&t), t.receiver());
    println!(
        "ready at once: {now} - length and room: {} {}",
        c.len(),
        c.capacity()
    );
    println!("stop: {} {}", t.stop(), t.stop());
    sleep(ms(40));
    println!("fired after stop: {}", ready(&t));

    println!("reset of a stopped one: {}", t.reset(ms(20)));
    println!("reset of a running one: {}", t.reset(ms(20)));
    t.recv();
    println!("reset of one that was received: {}", t.reset(ms(20)));
    sleep(ms(40));
    println!(
        "stop of one that fired unseen: {} - ready: {}",
        t.stop(),
        ready(&t)
    );

    let (tx, order) = chan(3);
    let begin = Instant::now();
    for n in [3, 1, 2] {
        let tx = tx.clone();
        after_func(ms(20) * n, move || tx.send(n).unwrap());
    }
    let next = || order.recv().unwrap();
    println!("order: {} {} {}", next(), next(), next());
    println!("took 60 ms: {}", begin.elapsed().as_millis() / 20 == 3);

    let f = after_func(ms(20), move || tx.send(9).unwrap());
    println!("function stopped: {} {}", f.stop(), f.reset(ms(20)));
    println!("runs all the same: {} - stop: {}", next(), f.stop());

    let ticker = Ticker::new(ms(20));
    sleep(ms(70)); // three ticks, one is kept
    ticker.recv();
    select! {
        recv(ticker.receiver()) -> _tick => println!("a second tick at once"),
        default => println!("missed ticks are lost"),
    }
    ticker.stop();
    select! {
        recv(ticker.receiver()) -> _tick => println!("it still ticks"),
        default(ms(50)) => println!("silent"),
    }
    ticker.reset(ms(20));
    ticker.recv();
    println!("and again");
}
