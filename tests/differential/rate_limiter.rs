//! A bucket of three tokens that gets a new one with each tick: a burst, and then one at a time.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const TICK: Duration = Duration::from_millis(20);

fn fill(bucket: &Sender<()>, done: &Receiver<()>) {
    let ticker = Ticker::new(TICK);
    loop {
        select! {
            recv(ticker.receiver()) -> _tick => { let _ = bucket.try_send(()); } // it may be full
            recv(done) -> _over => return,
        }
    }
}

fn main() {
    let (tx, bucket) = chan(3);
    for _ in 0..bucket.capacity() {
        tx.send(()).unwrap();
    }
    let (done, over) = chan(0);
    let filler = spawn(move || fill(&tx, &over));

    let begin = Instant::now();
    for request in 0..8 {
        bucket.recv();
        println!(
            "request {request}: tick {}",
            begin.elapsed().as_nanos() / TICK.as_nanos()
        );
    }
    sleep(TICK * 5 + TICK / 2);
    println!("after a rest: {} tokens", bucket.len());
    done.close();
    filler.join();
}
