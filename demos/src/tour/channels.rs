//! Channels, and `select!`.

use super::{Outcome, check, each};
use ringo::prelude::*;

pub fn ping_pong() -> Outcome {
    const N: u64 = 20_000;
    let (ping, pong_in) = chan::<u64>(0);
    let (pong, ping_in) = chan::<u64>(0);
    let partner = spawn(move || pong_in.into_iter().for_each(|v| pong.send(v + 1).unwrap()));
    let start = Instant::now();
    let mut token = 0;
    for _ in 0..N {
        ping.send(token).map_err(|e| e.to_string())?;
        token = ping_in.recv().ok_or("the partner is gone")?;
    }
    let took = start.elapsed();
    drop(ping);
    partner.join();
    check(token == N, || format!("the token says {token}"))?;
    Ok(format!("{} ns a round trip", each(took, N)))
}

pub fn pipeline() -> Outcome {
    const N: u64 = 100_000;
    let (tx, rx) = chan::<u64>(64);
    let start = Instant::now();
    for k in 0..4 {
        let tx = tx.clone();
        go(move || (k..N).step_by(4).for_each(|v| tx.send(v).unwrap()));
    }
    drop(tx);
    let sum: u64 = rx.into_iter().sum();
    let took = start.elapsed();
    check(sum == N * (N - 1) / 2, || format!("values sum up to {sum}"))?;
    Ok(format!(
        "{N} values from 4 senders, {} ns each",
        each(took, N)
    ))
}

pub fn closing() -> Outcome {
    let (tx, rx) = chan::<u32>(4);
    let waiting: Vec<_> = (0..100)
        .map(|_| {
            let rx = rx.clone();
            spawn(move || rx.into_iter().count())
        })
        .collect();
    (0..1000).for_each(|v| tx.send(v).unwrap());
    tx.close();
    let got: usize = waiting.into_iter().map(|h| h.join()).sum();
    check(got == 1000, || format!("{got} of 1000 values arrived"))?;
    check(tx.send(1).is_err(), || {
        "a closed channel took a value".to_string()
    })?;
    Ok("100 receivers drained 1000 values and went home".to_string())
}

pub fn selecting() -> Outcome {
    const N: u32 = 5_000;
    let (even, even_in) = chan::<u32>(0);
    let (odd, odd_in) = chan::<u32>(8);
    let (stop, stopped) = chan::<()>(0);
    let start = Instant::now();
    go(move || {
        for i in 0..2 * N {
            select! {
                send(if i % 2 == 0 { &even } else { &odd }, i) -> r => r.unwrap(),
                recv(never::<()>()) -> _v => return,
            }
        }
        stop.close();
    });
    let mut seen = [0u32; 2];
    loop {
        select! {
            recv(even_in) -> v => if let Some(v) = v { seen[v as usize % 2] += 1 } else { break },
            recv(odd_in) -> v => if let Some(v) = v { seen[v as usize % 2] += 1 } else { break },
        }
    }
    let took = start.elapsed();
    // The buffer may hold some when the first channel is found closed.
    seen[1] += odd_in.into_iter().count() as u32;
    check(seen == [N, N] && stopped.recv().is_none(), || {
        format!("{seen:?} values of {N} and {N} arrived")
    })?;
    Ok(format!(
        "{} values over two channels at once, {} ns each",
        2 * N,
        each(took, 2 * N as u64)
    ))
}

pub fn sieve() -> Outcome {
    const PRIMES: usize = 300;
    const LAST: u32 = 1987;
    let start = Instant::now();
    let (tx, mut rx) = chan::<u32>(0);
    go(move || {
        for n in 2.. {
            if tx.send(n).is_err() {
                return;
            }
        }
    });
    let mut prime = 0;
    for _ in 0..PRIMES {
        prime = rx.recv().ok_or("the sieve is dry")?;
        let (tx, next) = chan(0);
        let from = core::mem::replace(&mut rx, next);
        go(move || {
            for n in &from {
                if n % prime != 0 && tx.send(n).is_err() {
                    return;
                }
            }
        });
    }
    check(prime == LAST, || {
        format!("prime {PRIMES} came out as {prime} instead of {LAST}")
    })?;
    Ok(format!(
        "prime {PRIMES} is {prime}, from a chain of {PRIMES} goroutines in {:.1?}",
        start.elapsed()
    ))
}
