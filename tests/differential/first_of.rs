//! One channel that closes when the first of many does, by a tree of selects that leaves nobody behind.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

type Signal = Receiver<()>;

/// Gives up when `stop` closes.
fn first_of(stop: Signal, channels: &[Signal]) -> Signal {
    if let [only] = channels {
        return only.clone();
    }
    let (closes, done) = chan(0);
    let (channels, ours) = (channels.to_vec(), done.clone());
    go(move || {
        let _closes = closes;
        let (left, right) = channels.split_at(channels.len() / 2);
        select! {
            recv(first_of(ours.clone(), left)) -> _closed => {}
            recv(first_of(ours, right)) -> _closed => {}
            recv(stop) -> _closed => {}
        }
    });
    done
}

fn main() {
    for chosen in [0, 13, 31] {
        let (closers, signals): (Vec<_>, Vec<_>) = (0..32).map(|_| chan(0)).unzip();
        let first = first_of(never(), &signals);
        if first.is_closed() {
            println!("too early");
        }
        closers[chosen].close();
        first.recv();
        println!("number {chosen} was enough");
    }
}
