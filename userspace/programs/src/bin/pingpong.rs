//! What a switch costs: two threads pass a token over a channel, two processes by messages. `pingpong [ROUNDS]`.
#![no_std]
#![no_main]
use rt::message::{self, MessageReceiver, MessageSender};
use rt::prelude::*;
use rt::process::Command;
rt::main!(main);

/// Handles of the process on the other side: the first two that it is given.
const FROM: u32 = 3;
const TO: u32 = 4;

fn threads(rounds: u64) -> Option<Duration> {
    let (ping, pong_in) = chan::<u64>(0);
    let (pong, ping_in) = chan::<u64>(0);
    let partner = spawn(move || pong_in.iter().all(|token| pong.send(token + 1).is_ok()));
    let start = now();
    let mut token = 0;
    for _ in 0..rounds {
        ping.send(token).ok()?;
        token = ping_in.recv()?;
    }
    let took = now() - start;
    drop(ping);
    (partner.join() && token == rounds).then_some(took)
}

/// The process on the other side: sends each token back, one larger.
fn partner() -> rt::Result<()> {
    let (from, to) = (MessageReceiver::given(FROM), MessageSender::given(TO));
    let mut token = [0; 8];
    while from.recv(&mut token)?.is_some() {
        to.send(&(u64::from_le_bytes(token) + 1).to_le_bytes())?;
    }
    Ok(())
}

fn processes(rounds: u64) -> rt::Result<Option<Duration>> {
    let (ping, pong_in) = message::channel(0)?;
    let (pong, ping_in) = message::channel(0)?;
    let other = Command::new("pingpong").arg("1").arg("partner");
    let other = other.give(&pong_in).give(&pong).spawn()?;
    drop((pong_in, pong));
    let start = now();
    let mut token = [0; 8];
    for _ in 0..rounds {
        ping.send(&token)?;
        if ping_in.recv(&mut token)?.is_none() {
            return Ok(None);
        }
    }
    let took = now() - start;
    drop(ping);
    let right = other.wait()?.success() && u64::from_le_bytes(token) == rounds;
    Ok(right.then_some(took))
}

fn report(what: &str, rounds: u64, took: Option<Duration>) -> Result<(), String> {
    let took = took.ok_or(format!("{what}: the token got lost"))?;
    let ns = took.as_nanos() as u64 / rounds;
    println!("{what}: {rounds} round trips in {took:.1?}, {ns} ns each");
    Ok(())
}

fn main() -> Result<(), String> {
    let rounds = rt::args::number(0, "round trips", 10_000, 1..=100_000_000);
    if args().nth(1).as_deref() == Some("partner") {
        return partner().map_err(|e| e.to_string());
    }
    report("two threads", rounds, threads(rounds))?;
    let took = processes(rounds).map_err(|e| e.to_string())?;
    report("two processes", rounds, took)
}
