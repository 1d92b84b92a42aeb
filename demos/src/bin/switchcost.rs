//! What a switch costs by what it saves, and the same ping-pong between goroutines, threads and processes. `-- N`: round trips.
#![no_std]
#![no_main]
use ringo::prelude::*;
use ringo::switch_cost::{self, SwitchCost};
use ringo::user::{self, Stdio};
ringo::main!(main);

/// Measurements of each row.
const TIMES: usize = 21;

fn ns(ps: u64) -> String {
    format!("{}.{}", ps / 1000, ps % 1000 / 100)
}

fn row(what: &str, [least, middle, most]: [u64; 3]) {
    println!(
        "{what:<54} {:>10} {:>10} {:>10}",
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

/// What the program `pingpong` of ring 3 calls it, and we.
const RING_3: [(&str, &str); 3] = [
    ("threads", "two threads of a process (messages)"),
    ("futex", "two threads of a process (futex channel)"),
    ("processes", "two processes (messages)"),
];

/// The same in ring 3, by a process of its own: picoseconds a round trip.
fn ring_3(kind: &str, rounds: u64) -> Result<u64, String> {
    let text = |e: user::Error| e.to_string();
    let (stdio, output) = Stdio::without_input().and_output().map_err(text)?;
    let process = user::spawn("pingpong", &[&format!("{rounds}"), kind], stdio).map_err(text)?;
    let said = String::from_utf8_lossy(&output.read_to_end(1 << 20).map_err(text)?).into_owned();
    let ended = process.wait();
    let ps = said.trim().parse();
    ps.map_err(|_| format!("pingpong {kind}: {ended}, and it said {said:?}"))
}

fn sorted(mut ps: Vec<u64>) -> [u64; 3] {
    ps.sort_unstable();
    [ps[0], ps[ps.len() / 2], ps[ps.len() - 1]]
}

fn main() -> Result<(), String> {
    let rounds = ringo::args::number("round trips", 2000, 1..=1_000_000);
    println!(
        "{:<54} {:>10} {:>10} {:>10}",
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
    if !machine.is_empty() {
        for (kind, what) in RING_3 {
            let all: Result<Vec<u64>, String> = (0..TIMES).map(|_| ring_3(kind, rounds)).collect();
            row(&format!("round trip of {what}"), sorted(all?))
        }
    }
    Ok(())
}
