//! Clients that are no friends: floods of SYNs, readers that do not read, windows of a few bytes or none, resets.

use super::{ECHO, Load};
use std::net::{Ipv4Addr, SocketAddrV4};
use tests::peer::{Flags, Segment, Wire};

/// SYNs of a flood.
const SYNS: u32 = 6_000;
/// Connections that are broken off.
const RESETS: usize = 40;

pub fn rough(wire: Wire, seed: u64) -> Result<(), String> {
    Load::run(wire, seed, |load| {
        load.twice("slow readers", slow)?;
        load.twice("resets", resets)?;
        load.twice("a flood of SYNs", flood)
    })
}

/// SYNs from addresses that never answer, and a client among them.
fn flood(load: &mut Load) -> Result<(), String> {
    let (mac, machine) = (load.peer.setup().mac, load.mac);
    let (says, came) = std::sync::mpsc::channel();
    load.peer.sniff(move |frame| {
        let segment = Segment::parse(frame).filter(|s| s.to.ip().octets()[0] == 198);
        let theirs = segment.is_some();
        segment.map(|s| says.send(s));
        theirs
    });
    let before = load.state()?.heap_bytes;
    let old = load.peer.connect(ECHO)?;
    for i in 0..SYNS {
        let host = Ipv4Addr::from(0xc612_0000 + load.rng.below(1 << 17));
        let from = SocketAddrV4::new(host, 1_024 + load.rng.below(60_000) as u16);
        let syn = Segment::syn(from, ECHO, load.rng.next_u64() as u32);
        load.peer.send_raw(&syn.frame(mac, machine));
        if i % 500 == 499 {
            load.echo_on(old, i.into())?;
            load.echo_once(i.into())?
        }
    }
    load.peer.finish(old)?;
    let grown = load.state()?.heap_bytes.saturating_sub(before);
    let answers: Vec<Segment> = came.try_iter().filter(|s| s.flags == Flags::Syn).collect();
    if (answers.len() as u32) < SYNS / 4 {
        return Err(format!("{} answers to {SYNS} SYNs", answers.len()));
    }
    // 256 half-open connections of some 80 bytes, tables that grow by doubling. All would be half a megabyte and more.
    if grown > 128 << 10 {
        return Err(format!("{SYNS} SYNs took {grown} bytes"));
    }
    // They were not meant.
    for answer in answers {
        let rst = Segment {
            flags: Flags::Rst,
            ..Segment::syn(answer.to, ECHO, answer.ack.unwrap_or(0))
        };
        load.peer.send_raw(&rst.frame(mac, machine))
    }
    load.peer.sniff(|_| false);
    load.echo_once(7)
}

/// One that never reads, one with a window of a few bytes; others are served meanwhile.
fn slow(load: &mut Load) -> Result<(), String> {
    let room = 500 + load.rng.below(1_000) as usize;
    let dead = load.peer.tcp_socket(room, 64 << 10);
    load.peer.dial_with(dead, ECHO)?;
    load.peer.connected(dead)?;
    let tiny = 1 + load.rng.below(30) as usize;
    let tiny = load.peer.tcp_socket(tiny, 64 << 10);
    load.peer.dial_with(tiny, ECHO)?;
    load.peer.connected(tiny)?;
    // As much as goes in. The machine's echo of it stands before a window of 0 then.
    let full = vec![0xda; 60_000];
    let dead_socket = load.peer.tcp(dead);
    dead_socket.send_slice(&full).map_err(|e| e.to_string())?;
    let sent: Vec<u8> = (0..2_000u32).map(|i| (i * i) as u8).collect();
    load.peer.send_all(tiny, &sent)?;
    for seed in 0..10 {
        load.echo_once(seed)?
    }
    if load.peer.recv_exact(tiny, sent.len())? != sent {
        return Err("through the tiny window it came otherwise".into());
    }
    load.peer.finish(tiny)?;
    // It is still there, and what it had room for has come.
    if load.peer.tcp(dead).recv_queue() != room || load.peer.tcp(dead).send_queue() == 0 {
        return Err("who never reads was sent more or less than it has room for".into());
    }
    // Now it reads after all: a window of 0 opens.
    let mut left = full.len();
    while left > 0 {
        let n = left.min(1 + load.rng.below(2_000) as usize);
        let part = load.peer.recv_exact(dead, n)?;
        if part.iter().any(|byte| *byte != 0xda) {
            return Err("after a window of 0 it came otherwise".into());
        }
        left -= n
    }
    load.peer.finish(dead)
}

/// Connections that are broken off with bytes on their way in both directions.
fn resets(load: &mut Load) -> Result<(), String> {
    for i in 0..RESETS {
        let at = load.peer.connect(ECHO)?;
        let bytes = vec![i as u8; 30_000];
        let socket = load.peer.tcp(at);
        socket.send_slice(&bytes).map_err(|e| e.to_string())?;
        load.peer
            .recv_exact(at, 1 + load.rng.below(12_000) as usize)?;
        load.peer.reset(at);
        load.peer.forget(at)
    }
    load.echo_once(9)
}
