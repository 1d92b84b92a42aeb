//! A goroutine owns a table; others send it requests, each with a channel for the answer.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::BTreeMap;
use ringo::prelude::*;
ringo::main!(main);

struct Request {
    key: &'static str,
    add: u32,
    reply: Sender<u32>,
}

fn owner(requests: Receiver<Request>) {
    let mut table = BTreeMap::new();
    for Request { key, add, reply } in &requests {
        let value = table.entry(key).or_insert(0);
        *value += add;
        reply.send(*value).unwrap();
    }
}

fn ask(requests: &Sender<Request>, key: &'static str, add: u32) -> u32 {
    let (reply, answer) = chan(0);
    requests.send(Request { key, add, reply }).unwrap();
    answer.recv().unwrap()
}

fn client(requests: &Sender<Request>, client: u32) -> bool {
    let (mut last, mut rising) = (0, true);
    for _ in 0..20 {
        let now = ask(requests, ["even", "odd"][client as usize % 2], client);
        rising &= now >= last + client;
        last = now;
    }
    rising
}

fn main() {
    let (tx, requests) = chan(0);
    go(move || owner(requests));
    scope(|s| {
        let clients: Vec<_> = (0..10)
            .map(|n| {
                s.spawn({
                    let tx = &tx;
                    move || client(tx, n)
                })
            })
            .collect();
        for client in clients {
            if !client.join() {
                println!("an answer went backwards");
            }
        }
    });
    let all = ["even", "odd", "other"].map(|key| ask(&tx, key, 0));
    println!("even {} odd {} other {}", all[0], all[1], all[2]);
}
