//! What channels cost, without room and with room.

use crate::{Params, Sample};
use core::hint::black_box;
use ringo::prelude::*;

/// A round trip over two channels without room, 200,000 times: main sends, the other sends it back.
pub fn pingpong(p: &Params) -> Sample {
    let n = p.scaled(200_000);
    let ((ping, pinged), (pong, ponged)) = (chan::<u64>(0), chan::<u64>(0));
    go(move || echo(&pinged, &pong, n));
    let begin = Instant::now();
    call(&ping, &ponged, n);
    Sample::timed(begin.elapsed(), n)
        .param("round_trips", n)
        .param("pairs", 1)
}

/// 64 such pairs at once, 5,000 round trips each.
pub fn pingpong_many(p: &Params) -> Sample {
    let (pairs, each) = (64, (p.scaled(50_000) / 10).max(1));
    let wg = WaitGroup::new();
    wg.add(2 * pairs as i64);
    let begin = Instant::now();
    for _ in 0..pairs {
        let ((ping, pinged), (pong, ponged)) = (chan::<u64>(0), chan::<u64>(0));
        let (one, other) = (wg.clone(), wg.clone());
        go(move || {
            echo(&pinged, &pong, each);
            one.done()
        });
        go(move || {
            call(&ping, &ponged, each);
            other.done()
        });
    }
    wg.wait();
    Sample::timed(begin.elapsed(), pairs * each)
        .param("round_trips_each", each)
        .param("pairs", pairs)
}

/// Sends back what comes, `n` times.
fn echo(from: &Receiver<u64>, to: &Sender<u64>, n: u64) {
    for _ in 0..n {
        let v = from.recv().expect("who sends is there to the end");
        to.send(v).expect("who receives is there to the end")
    }
}

/// Sends and waits for the answer, `n` times.
fn call(to: &Sender<u64>, from: &Receiver<u64>, n: u64) {
    for i in 0..n {
        to.send(i).expect("who receives is there to the end");
        let v = from.recv();
        assert!(v == Some(i), "{v:?} came back for {i}")
    }
}

/// 400,000 items through a channel with room for 128, from one goroutine to one.
pub fn buffered_1to1(p: &Params) -> Sample {
    buffered(p, 1, 1)
}

/// The same from four to four.
pub fn buffered_4to4(p: &Params) -> Sample {
    buffered(p, 4, 4)
}

fn buffered(p: &Params, producers: u64, consumers: u64) -> Sample {
    let n = p.scaled(400_000);
    let each = (n / producers).max(1);
    let (tx, rx) = chan::<u64>(128);
    let (produced, consumed) = (WaitGroup::new(), WaitGroup::new());
    produced.add(producers as i64);
    consumed.add(consumers as i64);
    let begin = Instant::now();
    for _ in 0..producers {
        let (tx, produced) = (tx.clone(), produced.clone());
        go(move || {
            for i in 0..each {
                tx.send(i).expect("nobody closes it before")
            }
            produced.done()
        });
    }
    for _ in 0..consumers {
        let (rx, consumed) = (rx.clone(), consumed.clone());
        go(move || {
            black_box(rx.iter().sum::<u64>());
            consumed.done()
        });
    }
    produced.wait();
    tx.close();
    consumed.wait();
    Sample::timed(begin.elapsed(), each * producers)
        .param("cap", 128)
        .param("items", n)
        .param("producers", producers)
        .param("consumers", consumers)
}
