//! Three servers of different speed, with a time limit for each answer and one for all of them.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ask(delay: Duration) -> Receiver<String> {
    let (tx, answer) = chan(1); // whoever is late does not wait for ever
    go(move || {
        sleep(delay);
        drop(tx.send(format!("answer after {delay:?}")));
    });
    answer
}

fn main() {
    for delay in [ms(20), ms(60), ms(140)] {
        select! {
            recv(ask(delay)) -> text => println!("{}", text.unwrap()),
            default(ms(100)) => println!("no answer within {:?}", ms(100)),
        }
    }

    let limit = after(ms(110));
    let (mut fast, mut slow) = (ask(ms(40)), ask(ms(180)));
    let ticker = Ticker::new(ms(30));
    let mut ticks = 0;
    loop {
        select! {
            recv(fast) -> text => {
                println!("fast: {}", text.unwrap());
                fast = never();
            }
            recv(slow) -> text => {
                println!("slow: {}", text.unwrap());
                slow = never();
            }
            recv(ticker.receiver()) -> _tick => ticks += 1,
            recv(limit) -> _now => {
                println!("out of time after {ticks} ticks");
                sleep(ms(100));
                println!("too late: {}", slow.recv().unwrap());
                return;
            }
        }
    }
}
