//! A channel without a limit: a goroutine with a queue between two unbuffered ones.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::VecDeque;
use ringo::prelude::*;
ringo::main!(main);

fn unbounded(input: Receiver<u32>, out: Sender<u32>) {
    let mut queue = VecDeque::new();
    loop {
        let Some(first) = queue.front() else {
            match input.recv() {
                Some(v) => queue.push_back(v),
                None => return,
            }
            continue;
        };
        select! {
            recv(input) -> v => match v {
                Some(v) => queue.push_back(v),
                None => break,
            },
            send(out, *first) -> r => {
                r.unwrap();
                queue.pop_front();
            }
        }
    }
    for v in queue {
        out.send(v).unwrap();
    }
}

fn main() {
    let ((tx, input), (out, rx)) = (chan(0), chan(0));
    go(move || unbounded(input, out));
    for i in 0..1000 {
        tx.send(i).unwrap(); // nobody receives yet
    }
    println!("all are in");
    let (mut sum, mut ordered) = (0, true);
    for i in 0..500 {
        let v = rx.recv().unwrap();
        sum += v;
        ordered &= v == i;
    }
    println!("half: {sum} {ordered}");
    tx.send(1000).unwrap();
    drop(tx);
    let mut count = 0;
    for v in &rx {
        sum += v;
        ordered &= v == 500 + count;
        count += 1;
    }
    println!("rest: {count} {sum} {ordered}");
}
