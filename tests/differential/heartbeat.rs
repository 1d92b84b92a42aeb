//! A worker shows with a ticker that it lives; when it falls silent, a timer tells its watcher.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const BEAT: Duration = Duration::from_millis(20);

fn worker(beats: Sender<u32>, results: Sender<&'static str>, over: Receiver<()>) {
    let ticker = Ticker::new(BEAT);
    let work = Timer::new(BEAT * 5 / 2);
    let mut n = 1;
    while n <= 4 {
        select! {
            recv(ticker.receiver()) -> _tick => {
                beats.send(n).unwrap();
                n += 1;
            }
            recv(work.receiver()) -> _done => results.send("a result").unwrap(),
        }
    }
    ticker.stop();
    over.recv(); // it falls silent here, without a word
}

fn main() {
    let ((to, beats), (result, results), (_alive, over)) = (chan(0), chan(0), chan(0));
    go(move || worker(to, result, over));
    let silence = Timer::new(3 * BEAT);
    loop {
        select! {
            recv(beats) -> n => {
                let (n, was) = (n.unwrap(), silence.reset(3 * BEAT));
                println!("beat {n} - timer was running: {was}");
            }
            recv(results) -> r => println!("got {}", r.unwrap()),
            recv(silence.receiver()) -> _fired => {
                println!("silent for three beats: given up");
                println!("timer is running: {}", silence.stop());
                return;
            }
        }
    }
}
