//! Bursts of events become one each: a timer that every event sets anew.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[derive(Clone, Copy, Default)]
struct Burst {
    last: u32,
    count: u32,
}

fn debounce(input: Receiver<u32>, quiet: Duration, out: Sender<Burst>) {
    let timer = Timer::new(quiet);
    timer.stop();
    let mut burst = Burst::default();
    loop {
        select! {
            recv(input) -> event => {
                let Some(event) = event else {
                    if timer.stop() {
                        out.send(burst).unwrap();
                    }
                    return;
                };
                burst.last = event;
                burst.count += 1;
                timer.reset(quiet);
            }
            recv(timer.receiver()) -> _now => {
                out.send(burst).unwrap();
                burst.count = 0;
            }
        }
    }
}

fn main() {
    let ((tx, events), (out, bursts)) = (chan(0), chan(0));
    go(move || debounce(events, ms(40), out));
    go(move || {
        let mut numbers = 1..;
        for burst in [5, 1, 3, 4] {
            for event in numbers.by_ref().take(burst) {
                tx.send(event).unwrap();
                sleep(ms(10));
            }
            if burst != 4 {
                sleep(ms(70));
            }
        }
    });
    for Burst { last, count } in &bursts {
        println!("event {last} stands for {count}");
    }
}
