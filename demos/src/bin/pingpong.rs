//! Two goroutines pass a token to and fro over channels: what a switch costs. `-- N`: round trips.
#![no_std]
#![no_main]
use ringo::prelude::*;
ringo::main!(main);

fn main() -> Result<(), String> {
    let rounds = ringo::args::number("round trips", 100_000, 1..=100_000_000);
    let (ping, pong_in) = chan::<u64>(0);
    let (pong, ping_in) = chan::<u64>(0);
    let partner = spawn(move || {
        let mut seen = 0;
        for token in &pong_in {
            seen += 1;
            if pong.send(token + 1).is_err() {
                break;
            }
        }
        seen
    });

    let start = Instant::now();
    let mut token = 0;
    for _ in 0..rounds {
        if ping.send(token).is_err() {
            return Err("the partner is gone".to_string());
        }
        token = ping_in.recv().ok_or("the partner is gone")?;
    }
    let took = start.elapsed();
    drop(ping);
    let seen = partner.join();

    // Each value changes hands twice a round, and each of the two goroutines sleeps and wakes once or twice for it.
    let ns = took.as_nanos() as u64 / rounds;
    println!("{rounds} round trips in {took:.1?}: {ns} ns each");
    if token == rounds && seen == rounds {
        Ok(())
    } else {
        Err(format!(
            "{rounds} rounds, but the token says {token} and the partner saw {seen}"
        ))
    }
}
