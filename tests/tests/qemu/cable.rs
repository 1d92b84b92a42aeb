//! What the runner connects the network card to: a peer of ours, a tap interface, QEMU's own network with forwarded ports; and what
//! is captured of it.

use base::Rng;
use ringo_runner::{Forward, Net};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;
use tests::peer::{Wire, ethernet};
use tests::{Board, Case, NO_NET, figure};

fn event_index(case: Case, offered: bool) -> Case {
    case.judge(move |o| match figure(o, "event_idx") {
        Some(got) if got == u64::from(offered) => Ok(()),
        got => Err(format!("event index {got:?}, offered {offered}")),
    })
}

/// A card as a user's machine has it, and what went over its cable.
fn captured(board: Board) -> Case {
    let name = format!("ringo-capture-{}-{board:?}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let path = file.clone();
    let case = Case::new("net", "net_arp")
        .mode(NO_NET)
        .named(&format!("captured {board:?}"))
        .smp(2)
        .arg("rounds", 20);
    let case = case.machine(move |machine| {
        machine.board = board;
        machine.net = Net::User;
        machine.capture = Some(path.clone())
    });
    case.judge(move |_| {
        let bytes = std::fs::read(&file).map_err(|e| e.to_string());
        drop(std::fs::remove_file(&file));
        let (requests, replies) = arps(&bytes?).ok_or("the capture is no pcap")?;
        // 20 rounds of 1 to 20 questions, 2,000 that nobody answers.
        let wanted = (2210, 210);
        if (requests, replies) == wanted {
            return Ok(());
        }
        Err(format!(
            "captured {requests} requests and {replies} replies of ARP, not {wanted:?}"
        ))
    })
}

/// Requests and replies of ARP in a pcap of Ethernet (its header has 24 bytes, that of a frame 16).
fn arps(pcap: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| {
        let word = pcap.get(at..at + 4)?;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    };
    if (word(0)?, word(20)?) != (0xa1b2_c3d4, 1) {
        return None;
    }
    let (mut at, mut seen) = (24, (0, 0));
    while at < pcap.len() {
        let len = word(at + 8)? as usize;
        let frame = pcap.get(at + 16..at + 16 + len)?;
        match frame.get(12..22) {
            Some([8, 6, .., 1]) => seen.0 += 1,
            Some([8, 6, .., 2]) => seen.1 += 1,
            _ => {}
        }
        at += 16 + len
    }
    Some(seen)
}

/// Kinds of frames that the mirror in the machine knows; it sends back all others as they are.
const ASK: u16 = 0x88b5;
const END: u16 = 0x88b6;
const READY: u16 = 0x88b7;
const DATA: u16 = 0x9000;
/// Frames under way at most, more than half of a ring.
const WINDOW: u64 = 160;
/// What a wait for a frame may take before the machine is hung.
const HUNG: Duration = Duration::from_secs(60);
const US: [u8; 6] = [0x52, 0x55, 10, 0, 2, 2];
const MACHINE: [u8; 6] = [0x52, 0x54, 0, 0x12, 0x34, 0x56];

/// The frame of this number: of any length, and like no other.
fn frame(number: u64) -> Vec<u8> {
    let mut rng = Rng::new(number);
    let words = 6 + rng.below(180) as usize;
    let words = std::iter::once(number).chain((1..words).map(|_| rng.next_u64()));
    let payload: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
    ethernet(US, MACHINE, DATA, &payload)
}

/// Whether this is that frame.
fn same(came: &[u8], number: u64) -> Result<(), String> {
    let sent = frame(number);
    if came == sent {
        return Ok(());
    }
    let head = &came[..came.len().min(22)];
    Err(format!(
        "{} bytes came that begin with {head:x?} instead of the {} bytes of frame {number}",
        came.len(),
        sent.len()
    ))
}

/// The machine listens: what is sent to a card without a driver is lost.
fn await_ready(wire: &mut Wire) -> Result<(), String> {
    let came = wire.recv(HUNG * tests::patience() as u32)?;
    let is_ready = came.get(12..14) == Some(&READY.to_be_bytes());
    let problem = || format!("{} bytes came before all others", came.len());
    is_ready.then_some(()).ok_or_else(problem)
}

/// So many frames there and back, each as it was, in their order.
fn mirrored(wire: &mut Wire, frames: u64) -> Result<(), String> {
    let mut sent = 0;
    for back in 0..frames {
        while sent < frames.min(back + WINDOW) {
            wire.send(&frame(sent));
            sent += 1
        }
        same(&wire.recv(HUNG * tests::patience() as u32)?, back)?
    }
    Ok(())
}

/// What the mirror answers to a question: how often it had no room.
fn ask(wire: &mut Wire, kind: u16) -> Result<u64, String> {
    wire.send(&ethernet(US, MACHINE, kind, &[0; 46]));
    let answer = wire.recv(HUNG * tests::patience() as u32)?;
    let count = answer.get(14..22).and_then(|bytes| bytes.try_into().ok());
    count.map(u64::from_be_bytes).ok_or("no answer".to_string())
}

/// Floods the machine and reads nothing until it takes nothing any more: both of its rings are stuck then. Whatever it took comes
/// back all the same. Again, until the mirror says that it had no room.
fn overloaded(wire: &mut Wire) -> Result<(), String> {
    for round in 0..200 {
        let (mut sent, mut refused) = (0, 0);
        while refused < 20 {
            if wire.try_send(&frame(sent)) {
                (sent, refused) = (sent + 1, 0)
            } else {
                refused += 1;
                std::thread::sleep(Duration::from_millis(5 + round))
            }
        }
        for back in 0..sent {
            let came = wire.recv(HUNG * tests::patience() as u32)?;
            same(&came, back).map_err(|why| format!("a flood of {sent}: {why}"))?
        }
        if ask(wire, ASK)? != 0 {
            return Ok(());
        }
    }
    Err("the mirror always had room".into())
}

/// A mirror in the machine, so many frames, and a flood.
fn mirror(name: &str, frames: u64, event_idx: bool) -> Case {
    let case = Case::new("net", "net_echo_frames").named(name).no_events();
    let case = case.peer(move |mut wire| {
        await_ready(&mut wire)?;
        mirrored(&mut wire, frames)?;
        overloaded(&mut wire)?;
        ask(&mut wire, END).map(drop)
    });
    let case = case.machine(move |machine| {
        if !event_idx {
            machine.qemu_args = ["-global", "virtio-net-pci.event_idx=off"]
                .map(str::to_string)
                .to_vec()
        }
    });
    event_index(case, event_idx)
}

/// A port that is forwarded because we say so, and one because the program says that it listens.
fn knock() -> Case {
    const SAID: u16 = 27_123;
    let free = || {
        Some(
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .ok()?
                .local_addr()
                .ok()?
                .port(),
        )
    };
    let given = free().unwrap_or(SAID - 1);
    let knock_at = |port| drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
    let case = Case::new("net", "net_knock").smp(2);
    let case = case.machine(move |machine| {
        let (udp, host, guest) = (false, given, 80);
        machine.net = Net::User;
        machine.forwards = vec![Forward { udp, host, guest }];
        machine.forward_listeners = true
    });
    let case = case.client(move |machine| {
        while !machine.has_ended() {
            knock_at(given);
            // Somebody may have had the port: then it is one of the next.
            (SAID..SAID + 20).for_each(knock_at);
            std::thread::sleep(Duration::from_millis(50))
        }
        Ok(())
    });
    let case = case.says(&format!(
        "ringo: localhost:{given} is forwarded to port 80\n"
    ));
    let case = case.says(&format!(" is forwarded to port {SAID}\n"));
    case.judge(|o| {
        let forwards = o.events.iter().filter(|e| e["event"] == "forward");
        let guests: Vec<_> = forwards.map(|e| e["guest"].as_u64()).collect();
        (guests == [Some(80), Some(SAID.into())])
            .then_some(())
            .ok_or_else(|| format!("forwarded: {guests:?}"))
    })
}

pub fn cases() -> Vec<Case> {
    vec![
        mirror("140000", 140_000, true).smp(2),
        mirror("70000, no event index", 70_000, false)
            .smp(1)
            .mode(NO_NET),
        Case::new("net", "net_arp")
            .mode(NO_NET)
            .arg("may_lose", 5)
            .named("tap")
            .smp(2)
            .tap(false),
        Case::new("net", "net_arp")
            .mode(NO_NET)
            .arg("may_lose", 5)
            .named("tap of several queues")
            .smp(4)
            .tap(true),
        knock(),
        captured(Board::Q35),
        captured(Board::Microvm),
    ]
}
