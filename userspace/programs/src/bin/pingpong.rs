//! What a switch costs: two threads pass a token over a channel or by messages, two processes by messages. `pingpong [ROUNDS [KIND]]`.
#![no_std]
#![no_main]
use rt::message::{self, MessageReceiver, MessageSender};
use rt::prelude::*;
use rt::process::Command;
rt::main!(main);

/// Handles of the process on the other side: the first two that it is given.
const FROM: u32 = 3;
const TO: u32 = 4;

/// So many round trips, and the time that they took; `None`: the token got lost.
type Way = fn(u64) -> rt::Result<Option<Duration>>;

/// What an argument names, what it is, how. With such an argument only picoseconds a round trip are printed, for other programs.
const WAYS: [(&str, &str, Way); 3] = [
    ("futex", "two threads, a channel made of futexes", futex),
    ("threads", "two threads, messages", threads),
    ("processes", "two processes, messages", processes),
];

fn futex(rounds: u64) -> rt::Result<Option<Duration>> {
    let (ping, pong_in) = chan::<u64>(0);
    let (pong, ping_in) = chan::<u64>(0);
    let partner = spawn(move || pong_in.iter().all(|token| pong.send(token + 1).is_ok()));
    let start = now();
    let mut token = 0;
    for _ in 0..rounds {
        if ping.send(token).is_err() {
            return Ok(None);
        }
        token = ping_in.recv().unwrap_or(0);
    }
    let took = now() - start;
    drop(ping);
    Ok((partner.join() && token == rounds).then_some(took))
}

/// The other side: sends each token back, one larger.
fn partner(from: &MessageReceiver, to: &MessageSender) -> rt::Result<()> {
    let mut token = [0; 8];
    while from.recv(&mut token)?.is_some() {
        to.send(&(u64::from_le_bytes(token) + 1).to_le_bytes())?;
    }
    Ok(())
}

/// This side: the last token, and the time.
fn first(rounds: u64, to: &MessageSender, from: &MessageReceiver) -> rt::Result<(u64, Duration)> {
    let start = now();
    let mut token = [0; 8];
    for _ in 0..rounds {
        to.send(&token)?;
        if from.recv(&mut token)?.is_none() {
            break;
        }
    }
    Ok((u64::from_le_bytes(token), now() - start))
}

fn threads(rounds: u64) -> rt::Result<Option<Duration>> {
    let (ping, pong_in) = message::channel(0)?;
    let (pong, ping_in) = message::channel(0)?;
    let other = spawn(move || partner(&pong_in, &pong));
    let (token, took) = first(rounds, &ping, &ping_in)?;
    drop(ping);
    Ok((other.join().is_ok() && token == rounds).then_some(took))
}

fn processes(rounds: u64) -> rt::Result<Option<Duration>> {
    let (ping, pong_in) = message::channel(0)?;
    let (pong, ping_in) = message::channel(0)?;
    let other = Command::new("pingpong").arg("1").arg("partner");
    let other = other.give(&pong_in).give(&pong).spawn()?;
    drop((pong_in, pong));
    let (token, took) = first(rounds, &ping, &ping_in)?;
    drop(ping);
    Ok((other.wait()?.success() && token == rounds).then_some(took))
}

fn main() -> Result<(), String> {
    let rounds = rt::args::number(0, "round trips", 10_000, 1..=100_000_000);
    let kind = args().nth(1);
    if kind.as_deref() == Some("partner") {
        let (from, to) = (MessageReceiver::given(FROM), MessageSender::given(TO));
        return partner(&from, &to).map_err(|e| e.to_string());
    }
    let mut known = false;
    for (name, what, way) in WAYS {
        if kind.as_deref().is_some_and(|kind| kind != name) {
            continue;
        }
        known = true;
        let took = way(rounds).map_err(|e| format!("{what}: {e}"))?;
        let took = took.ok_or(format!("{what}: the token got lost"))?;
        let ps = took.as_nanos() as u64 * 1000 / rounds;
        match kind {
            Some(_) => println!("{ps}"),
            None => {
                let ns = ps / 1000;
                println!("{what}: {rounds} round trips in {took:.1?}, {ns} ns each")
            }
        }
    }
    match known {
        true => Ok(()),
        false => Err("argument 2: futex, threads or processes (without it: all of them)".into()),
    }
}
