//! Queens that do not attack each other: a goroutine for each place of the first two.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

/// In how many ways one can go on; the masks say what is attacked.
fn count(n: usize, row: usize, columns: u32, left: u32, right: u32) -> u32 {
    if row == n {
        return 1;
    }
    let mut ways = [0; 8];
    scope(|places| {
        for (column, ways) in ways[..n].iter_mut().enumerate() {
            let bit = 1 << column;
            if (columns | left | right) & bit != 0 {
                continue;
            }
            let mut next = move || {
                *ways = count(
                    n,
                    row + 1,
                    columns | bit,
                    (left | bit) << 1,
                    (right | bit) >> 1,
                );
            };
            if row < 2 {
                places.go(next);
            } else {
                next();
            }
        }
    });
    ways.iter().sum()
}

fn main() {
    for n in 1..=8 {
        println!("{n} queens: {}", count(n, 0, 0, 0, 0));
    }
}
