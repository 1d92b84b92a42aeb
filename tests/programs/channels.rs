//! Channels in all their states.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn main() {
    let (tx, rx) = chan::<u64>(0);
    let squares = tx.clone();
    go(move || (1..=4).for_each(|i| squares.send(i * i).unwrap()));
    for _ in 1..=4 {
        println!("> square {:?}", rx.recv());
    }
    println!("> nobody sends: {:?}", rx.try_recv());
    println!(
        "> nobody takes: {}",
        matches!(tx.try_send(1), Err(TrySendError::Full(1)))
    );
    drop(tx);
    println!("> all senders gone: {:?} {:?}", rx.recv(), rx.try_recv());

    let (tx, rx) = chan::<&str>(3);
    for word in ["first", "second", "third"] {
        tx.send(word).unwrap();
    }
    println!(
        "> {} of {} used, full: {}",
        rx.len(),
        rx.capacity(),
        tx.try_send("fourth").is_err()
    );
    println!("> closed: {}, again: {}", tx.close(), tx.close());
    println!(
        "> a closed one takes nothing: {}",
        tx.send("fifth").is_err()
    );
    println!(
        "> but gives what it has: {}",
        (&rx).into_iter().collect::<Vec<_>>().join(" ")
    );

    let (tx, rx) = chan::<u64>(5);
    drop(rx);
    println!("> no receiver: {}", tx.send(1).is_err());

    let (tx, rx) = chan::<u64>(16);
    for worker in 0..5u64 {
        let tx = tx.clone();
        go(move || (0..200).for_each(|i| tx.send(worker * 1000 + i).unwrap()));
    }
    drop(tx);
    let mut all: Vec<u64> = (&rx).into_iter().collect();
    all.sort_unstable();
    all.dedup();
    println!(
        "> {} different values, the last is {:?}",
        all.len(),
        all.last()
    );
}
