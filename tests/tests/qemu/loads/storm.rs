//! Storms of frames: bursts as long as the cable takes them and far longer than the card's ring, of all that a network has and of what
//! none should have, pauses between them of any length; nobody reads meanwhile. Whatever is lost in them, the machine answers
//! afterwards: each time to ARP, now and then to a client.

use super::{CONTROL, ECHO, IP, Load, hung};
use crate::env;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tests::peer::{Peer, Segment, Setup, Wire, arp_request, datagram, ethernet};

/// Storms on a machine.
const STORMS: u64 = 120;
/// Frames of the longest.
const LONGEST: u32 = 700;

pub fn storms(wire: Wire, seed: u64) -> Result<(), String> {
    Load::run(wire, seed, |load| {
        let answers = listen(load);
        for n in 0..env("RINGO_STORMS", STORMS) {
            burst(load);
            let pause = Duration::from_micros(pause(load));
            load.peer.run_for(pause);
            answered(load, &answers).map_err(|why| format!("storm {n}: {why}"))?;
            if n % 10 == 9 {
                load.echo_once(n)
                    .map_err(|why| format!("after storm {n}: {why}"))?
            }
        }
        Ok(())
    })
}

/// A machine that nobody hears and that hears nobody, but for its looks at the card twice a second: it gets its address, takes a
/// connection, and ends as it is told.
pub fn unheard(wire: Wire) -> Result<(), String> {
    let mut peer = Peer::new(wire, Setup::default());
    peer.serve_dhcp(IP);
    let control = peer.connect_when_it_listens(CONTROL)?;
    peer.send_all(control, b"e")?;
    drop(peer.finish(control));
    Ok(())
}

/// From here on what the machine answers to ARP goes into the channel, and all that does not concern a client of ours nowhere.
fn listen(load: &mut Load) -> Receiver<Ipv4Addr> {
    let (says, answers) = std::sync::mpsc::channel();
    load.peer.sniff(move |frame| {
        // Who was answered: the target of a reply.
        if let Some([8, 6, 0, 1, 8, 0, 6, 4, 0, 2]) = frame.get(12..22)
            && let Some(ip) = frame
                .get(38..42)
                .and_then(|ip| <[u8; 4]>::try_from(ip).ok())
        {
            // Nobody wants it when the storms are over.
            _ = says.send(ip.into());
            return ip != [10, 0, 2, 2];
        }
        Segment::parse(frame).is_some_and(|s| s.to.ip().octets()[0] == 198)
    });
    answers
}

/// Microseconds: none, or up to where the machine has gone idle and halts.
fn pause(load: &mut Load) -> u64 {
    match load.rng.below(4) {
        0 => 0,
        1 => load.rng.below(300).into(),
        _ => load.rng.below(8_000).into(),
    }
}

/// Frames of all kinds, as fast as the cable takes them.
fn burst(load: &mut Load) {
    let n = match load.rng.below(3) {
        0 => 1 + load.rng.below(8),
        1 => 1 + load.rng.below(300),
        _ => LONGEST / 2 + load.rng.below(LONGEST / 2),
    };
    for _ in 0..n {
        let frame = any(load);
        load.peer.send_raw(&frame)
    }
    load.peer.poll();
}

fn any(load: &mut Load) -> Vec<u8> {
    let (mac, machine) = (load.peer.setup().mac, load.mac);
    let far = Ipv4Addr::from(0xc612_0000 + load.rng.below(1 << 17));
    let port = 1_024 + load.rng.below(60_000) as u16;
    let from = SocketAddrV4::new(far, port);
    match load.rng.below(8) {
        0 => arp_request(mac, Ipv4Addr::new(10, 0, 2, 20), IP),
        1 | 2 => Segment::syn(from, ECHO, load.rng.next_u64() as u32).frame(mac, machine),
        // Of no connection.
        3 => {
            let mut segment = Segment::syn(from, ECHO, 1);
            (segment.flags, segment.ack) = (Default::default(), Some(77));
            segment.bytes = vec![1; load.rng.below(1_400) as usize];
            segment.frame(mac, machine)
        }
        4 | 5 => {
            let bytes = vec![2; load.rng.below(1_400) as usize];
            let to = SocketAddrV4::new(IP, port);
            datagram((mac, from), (machine, to), &bytes)
        }
        6 => {
            let mut bytes = vec![0; 46 + load.rng.below(1_454) as usize];
            bytes.fill_with(|| load.rng.next_u64() as u8);
            ethernet(mac, machine, 0x0800, &bytes)
        }
        _ => ethernet(mac, [0xff; 6], load.rng.next_u64() as u16, &[0; 60]),
    }
}

/// A question by ARP, asked from an address of its own so that no other's answer is taken for its own, is answered. It may be
/// lost where the card had no room, as in any network: it is asked again.
fn answered(load: &mut Load, answers: &Receiver<Ipv4Addr>) -> Result<(), String> {
    let asker = Ipv4Addr::new(10, 0, 2, 30 + load.rng.below(200) as u8);
    let question = arp_request(load.peer.setup().mac, asker, IP);
    let begin = Instant::now();
    let mut asked = None::<Instant>;
    loop {
        if asked.is_none_or(|at| at.elapsed() > Duration::from_secs(1)) {
            load.peer.send_raw(&question);
            asked = Some(Instant::now())
        }
        if !load.peer.poll() {
            return Err("the machine has hung up".into());
        }
        if answers.try_iter().any(|ip| ip == asker) {
            return Ok(());
        }
        if begin.elapsed() > hung() {
            return Err("the machine does not answer to ARP any more".into());
        }
        load.peer.run_for(Duration::from_micros(200))
    }
}
