//! A sorting network: each comparator is a goroutine between two wires, batches flow through one after the other.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const WIRES: usize = 8;
const BATCHES: usize = 5;

type Wire = Receiver<u32>;

fn comparator(a: Wire, b: Wire) -> (Wire, Wire) {
    let ((low, below), (high, above)) = (chan(0), chan(0));
    go(move || {
        for (x, y) in a.iter().zip(&b) {
            low.send(x.min(y)).unwrap();
            high.send(x.max(y)).unwrap();
        }
    });
    (below, above)
}

fn main() {
    let (inputs, mut wires): (Vec<Sender<u32>>, Vec<Wire>) = (0..WIRES).map(|_| chan(0)).unzip();
    let mut comparators = 0;
    for round in 0..WIRES {
        for pair in wires[round % 2..].chunks_exact_mut(2) {
            let (low, high) = comparator(pair[0].clone(), pair[1].clone());
            (pair[0], pair[1]) = (low, high);
            comparators += 1;
        }
    }
    println!("{comparators} comparators");
    let mut seed = 3u32;
    let mut numbers = [[0; WIRES]; BATCHES];
    for number in numbers.as_flattened_mut() {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *number = (seed >> 16) % 100;
    }
    for (i, to) in inputs.into_iter().enumerate() {
        go(move || numbers.iter().for_each(|batch| to.send(batch[i]).unwrap()));
    }
    for _ in 0..BATCHES {
        let line: Vec<String> = wires
            .iter()
            .map(|w| w.recv().unwrap().to_string())
            .collect();
        println!("{}", line.join(" "));
    }
}
