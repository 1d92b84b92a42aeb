//! What a switch costs by what it saves, and the same ping-pong between goroutines, threads and processes. `-- N`: round trips.
#![no_std]
#![no_main]
use ringo::prelude::*;
use ringo::switch_cost::{self, SwitchCost};
ringo::main!(main);

/// Measurements of each row.
const TIMES: usize = 21;

fn ns(ps: u64) -> String {
    format!("{}.{}", ps / 1000, ps % 1000 / 100)
}

fn row(what: &str, [least, middle, most]: [u64; 3]) {
    println!(
        "{what:<44} {:>10} {:>10} {:>10}",
        ns(least),
        ns(middle),
        ns(most)
    )
}

/// A token goes to the other goroutine and back over channels without room: picoseconds a round trip.
fn goroutines(rounds: u64) -> Result<u64, String> {
    let (ping, pinged) = chan::<u64>(0);
    let (pong, ponged) = chan::<u64>(0);
    let partner = spawn(move || {
        for token in &pinged {
            pong.send(token + 1).unwrap();
        }
    });
    let (start, mut token) = (Instant::now(), 0);
    for _ in 0..rounds {
        ping.send(token).unwrap();
        token = ponged.recv().ok_or("the token got lost")?;
    }
    let took = start.elapsed();
    drop(ping);
    partner.join();
    if token != rounds {
        return Err(format!("the token says {token} after {rounds} round trips"));
    }
    Ok(took.as_nanos() as u64 * 1000 / rounds)
}

fn sorted(mut ps: Vec<u64>) -> [u64; 3] {
    ps.sort_unstable();
    [ps[0], ps[ps.len() / 2], ps[ps.len() - 1]]
}

fn main() -> Result<(), String> {
    let rounds = ringo::args::number("round trips", 2000, 1..=1_000_000);
    println!(
        "{:<44} {:>10} {:>10} {:>10}",
        "nanoseconds", "least", "median", "most"
    );
    let machine = switch_cost::measure(TIMES);
    if machine.is_empty() {
        println!("the rows of bare switches and of ring 3 are for a machine: --machine qemu");
    }
    for SwitchCost { saves, ps } in &machine {
        row(&format!("a switch that saves {saves}"), *ps)
    }
    let all: Result<Vec<u64>, String> = (0..TIMES).map(|_| goroutines(rounds)).collect();
    row("round trip of two goroutines", sorted(all?));
    Ok(())
}
