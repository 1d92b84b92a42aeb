//! Power series as streams of coefficients: sine and cosine feed each other (after McIlroy).
#![no_std]
#![no_main]
use core::ops::{Add, Mul};
use ringo::prelude::*;
ringo::main!(main);

const TERMS: usize = 10;

#[derive(Clone, Copy)]
struct Rat {
    num: i64,
    den: i64,
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn ratio(num: i64, den: i64) -> Rat {
    let g = gcd(num, den).abs() * den.signum();
    Rat {
        num: num / g,
        den: den / g,
    }
}

impl Add for Rat {
    type Output = Rat;
    fn add(self, b: Rat) -> Rat {
        ratio(self.num * b.den + b.num * self.den, self.den * b.den)
    }
}

impl Mul for Rat {
    type Output = Rat;
    fn mul(self, b: Rat) -> Rat {
        ratio(self.num * b.num, self.den * b.den)
    }
}

type Series = Receiver<Rat>;

/// Sends what `f` makes of `n` for each `n`, while somebody receives.
fn stream(mut f: impl FnMut(usize) -> Rat + Send + 'static) -> Series {
    let (out, series) = chan(0);
    go(move || {
        for n in 0..TERMS {
            if out.send(f(n)).is_err() {
                return;
            }
        }
    });
    series
}

fn next(a: &Series) -> Rat {
    a.recv().unwrap()
}

fn add(a: Series, b: Series) -> Series {
    stream(move |_| next(&a) + next(&b))
}

fn scale(c: Rat, a: Series) -> Series {
    stream(move |_| c * next(&a))
}

fn mul(a: Series, b: Series) -> Series {
    let (mut all_a, mut all_b) = (vec![], vec![]);
    stream(move |_| {
        all_a.push(next(&a));
        all_b.push(next(&b));
        let products = all_a.iter().zip(all_b.iter().rev()).map(|(a, b)| *a * *b);
        products.fold(ratio(0, 1), Rat::add)
    })
}

/// Begins with `c`, before it asks `a` for anything.
fn integral(c: Rat, a: Series) -> Series {
    stream(move |n| match n {
        0 => c,
        _ => next(&a) * ratio(1, n as i64),
    })
}

/// Copies `a` into series that may be read at different speeds. Nobody may want some of them any more.
fn split<const N: usize>(a: Series, outs: [Sender<Rat>; N]) {
    go(move || {
        for r in &a {
            for out in &outs {
                let _ = out.send(r);
            }
        }
    });
}

fn room() -> (Sender<Rat>, Series) {
    chan(TERMS)
}

fn show(name: &str, a: Series) {
    print!("{name}");
    for r in &a {
        print!(" {}/{}", r.num, r.den);
    }
    println!();
}

fn main() {
    let (zero, one, minus) = (ratio(0, 1), ratio(1, 1), ratio(-1, 1));

    let ((again, looped), (out, exp)) = (room(), room());
    split(integral(one, looped), [again, out]);
    show("exp", exp);

    let ((s0, sin_loop), (s1, sin), (s2, sin2), (s3, sin3)) = (room(), room(), room(), room());
    let ((c0, cos_loop), (c1, cos), (c2, cos2), (c3, cos3)) = (room(), room(), room(), room());
    split(integral(zero, cos_loop), [s0, s1, s2, s3]);
    split(integral(one, scale(minus, sin_loop)), [c0, c1, c2, c3]);
    show("sin", sin);
    show("cos", cos);
    show("one", add(mul(sin2, sin3), mul(cos2, cos3)));
}
