//! Counting words: mappers split lines, each word goes to the reducer that its letters choose.
#![no_std]
#![no_main]
extern crate alloc;
use alloc::collections::BTreeMap;
use ringo::prelude::*;
ringo::main!(main);

const REDUCERS: usize = 3;

const LINES: &[&str] = &[
    "one fish two fish red fish blue fish",
    "a big blue dog chased a red fox",
    "the fox and the dog and the fish",
    "two red dogs and one blue fox",
];

fn bucket(word: &str) -> usize {
    word.bytes().map(usize::from).sum::<usize>() % REDUCERS
}

fn reduce(words: Receiver<&'static str>) -> BTreeMap<&'static str, u32> {
    let mut count = BTreeMap::new();
    for word in &words {
        *count.entry(word).or_default() += 1;
    }
    count
}

fn main() {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..REDUCERS).map(|_| chan(4)).unzip();
    let counts: Vec<_> = receivers
        .into_iter()
        .map(|words| spawn(move || reduce(words)))
        .collect();
    for line in LINES {
        let words = senders.clone();
        go(move || {
            for word in line.split_whitespace() {
                words[bucket(word)].send(word).unwrap();
            }
        });
    }
    drop(senders); // the mappers' own are the last
    let total: BTreeMap<_, _> = counts.into_iter().flat_map(JoinHandle::join).collect();
    for (word, n) in total {
        println!("{word} {n}");
    }
}
