//! A product of matrices, a goroutine for each row.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

const N: usize = 24;

type Matrix = [[u64; N]; N];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut c = [[0; N]; N];
    scope(|s| {
        for (row, out) in a.iter().zip(&mut c) {
            s.go(move || {
                for (j, cell) in out.iter_mut().enumerate() {
                    *cell = (0..N).map(|k| row[k] * b[k][j]).sum::<u64>() % 1009;
                }
            });
        }
    });
    c
}

fn main() {
    let (mut a, mut power) = ([[0; N]; N], [[0; N]; N]);
    for i in 0..N {
        power[i][i] = 1;
        a[i] = core::array::from_fn(|j| (i * 7 + j * 3) as u64 % 10);
    }
    for exponent in 1..=4 {
        power = product(&power, &a);
        let trace: u64 = (0..N).map(|i| power[i][i]).sum();
        println!("power {exponent} trace {trace} corner {}", power[0][N - 1]);
    }
}
