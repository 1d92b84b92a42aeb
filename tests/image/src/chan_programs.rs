//! Programs made of channels: Go's (runtime/chan_test.go, MultiConsumer; test/chan/), in our words. What one channel does:
//! `chans.rs`.

use crate::param::param;
use crate::{Outcome, Test, ensure, figure};
use ringo::prelude::*;

/// The tests of this file.
pub const TESTS: &[Test] = &[
    ("chan_multi_consumer", chan_multi_consumer),
    ("chan_chain", chan_chain),
    ("chan_power_series", chan_power_series),
    ("chan_sieve_twice", chan_sieve_twice),
];

/// Go: MultiConsumer: workers in two stages.
fn chan_multi_consumer() -> Outcome {
    const WORKERS: u64 = 23;
    let items = param("items", 20_000);
    let primes = [2u64, 3, 7, 11, 13];
    let (in_tx, in_rx) = chan::<u64>(WORKERS as usize);
    let (out_tx, out_rx) = chan::<u64>(WORKERS as usize);
    let wg = Arc::new(WaitGroup::new());
    for w in 0..WORKERS {
        let (rx, tx) = (in_rx.clone(), out_tx.clone());
        wg.go(move || {
            for v in rx {
                if primes[(w % 5) as usize].is_multiple_of(v) {
                    yield_now()
                }
                tx.send(v + 1).unwrap()
            }
        })
    }
    drop((out_tx, in_rx));
    let feeder = spawn(move || {
        (0..items)
            .map(|i| {
                in_tx.send(i % 97).unwrap();
                i % 97 + 1
            })
            .sum::<u64>()
    });
    let (mut n, mut sum) = (0, 0);
    for v in out_rx {
        n += 1;
        sum += v
    }
    wg.wait();
    let want = feeder.join();
    ensure!(
        n == items && sum == want,
        "{n} items, sum {sum}, not {want}"
    );
    Ok(())
}

/// Go: chan/goroutines: a chain of goroutines passes one token on.
fn chan_chain() -> Outcome {
    let n = param("links", 10_000);
    let (first, mut last) = chan::<u64>(0);
    for _ in 0..n {
        let (tx, rx) = chan::<u64>(0);
        let from = core::mem::replace(&mut last, rx);
        go(move || {
            if let Some(v) = from.recv() {
                tx.send(v + 1).unwrap()
            }
        });
    }
    first.send(0).map_err(|e| e.to_string())?;
    ensure!(last.recv() == Some(n), "the token was lost");
    Ok(())
}

type Series = Receiver<i64>;

fn series(f: impl FnOnce(Sender<i64>) + Send + 'static) -> Series {
    let (tx, rx) = chan(0);
    go(move || f(tx));
    rx
}

/// Go: chan/powser1: power series as streams of coefficients: 1/(1-x), its square, and the square by convolution agree.
fn chan_power_series() -> Outcome {
    let ones = || series(|tx| while tx.send(1).is_ok() {});
    let squared = |a: Series| {
        series(move |tx| {
            let mut seen = Vec::new();
            while let Some(v) = a.recv() {
                seen.push(v);
                let n = seen.len();
                let c = (0..n).map(|i| seen[i] * seen[n - 1 - i]).sum();
                if tx.send(c).is_err() {
                    break;
                }
            }
        })
    };
    let integral = |a: Series| {
        series(move |tx| {
            let mut sum = 0;
            while let Some(v) = a.recv() {
                sum += v;
                if tx.send(sum).is_err() {
                    break;
                }
            }
        })
    };
    // 1/(1-x)^2 = sum (n+1) x^n, by the product and by summing up; 1/(1-x)^4 likewise.
    let by_product = squared(squared(ones()));
    let by_sums = integral(integral(integral(ones())));
    for n in 0..param("terms", 60) as i64 {
        let want = (n + 1) * (n + 2) * (n + 3) / 6;
        let got = (by_product.recv(), by_sums.recv());
        ensure!(
            got == (Some(want), Some(want)),
            "term {n}: {got:?}, not {want}"
        );
    }
    Ok(())
}

/// Go: chan/sieve1, sieve2: two sieves side by side agree with each other and with a plain one.
fn chan_sieve_twice() -> Outcome {
    fn sieve(cap: usize) -> Receiver<u32> {
        let (out, primes) = chan(cap);
        go(move || {
            let (tx, mut numbers) = chan::<u32>(cap);
            go(move || {
                let _ = (2..).try_for_each(|i| tx.send(i));
            });
            while let Some(p) = numbers.recv() {
                if out.send(p).is_err() {
                    break;
                }
                let (tx, rx) = chan(cap);
                let from = core::mem::replace(&mut numbers, rx);
                go(move || {
                    for n in from {
                        if n % p != 0 && tx.send(n).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        primes
    }
    let (a, b) = (sieve(0), sieve(5));
    let mut found: Vec<u32> = Vec::new();
    let mut n = 2u32;
    while found.len() < param("primes", 80) as usize {
        if found.iter().all(|p| !n.is_multiple_of(*p)) {
            ensure!(
                a.recv() == Some(n) && b.recv() == Some(n),
                "{n} was left out"
            );
            found.push(n)
        }
        n += 1
    }
    figure!("last_prime", n - 1);
    Ok(())
}
