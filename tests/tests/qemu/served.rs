//! Servers on the machine, clients here: over a cable of our own with faults, and as a user's machine has it, by a forwarded
//! port.

use ringo_runner::{Forward, Net};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use tests::peer::{Faults, Peer, Setup, Wire};
use tests::{Board, Case, NO_NET, demo, hung};

const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);

/// A peer that gives the machine its address, and has it.
fn peer(wire: Wire, setup: Setup) -> Result<Peer, String> {
    let mut peer = Peer::new(wire, setup);
    peer.serve_dhcp(MACHINE);
    peer.until("the machine to ask for an address", |peer| {
        Ok((peer.leases() != 0).then_some(()))
    })?;
    Ok(peer)
}

/// Connections one after another, some bytes each; all of them come back.
fn echoed(mut peer: Peer, connections: u64, bad: bool) -> Result<(), String> {
    for c in 0..connections {
        let at = peer.connect_when_it_listens(SocketAddrV4::new(MACHINE, 7))?;
        let sent: Vec<u8> = (0..20_000u64).map(|i| ((i * i) ^ c) as u8).collect();
        // In parts that fit into the buffers on the way.
        for part in sent.chunks(4_000) {
            peer.send_all(at, part)?;
            let back = peer.recv_exact(at, part.len())?;
            if back != part {
                return Err(format!("connection {c}: it came back otherwise"));
            }
        }
        peer.shut(at);
        if c + 1 == connections {
            // The machine ends with its server, whatever of the end was lost on the way.
            drop(peer.finish(at));
            break;
        }
        let rest = peer.recv_to_end(at)?;
        if !rest.is_empty() {
            return Err(format!("{} bytes too many", rest.len()));
        }
        peer.finish(at)?
    }
    let hit = peer.tallies();
    let hit = hit.map(|t| t.lost + t.doubled + t.late + t.damaged);
    if bad && hit.contains(&0) {
        return Err(format!("the cable was too good: {hit:?}"));
    }
    Ok(())
}

fn over_cable(name: &str, seed: u64, faults: Faults) -> Case {
    let setup = Setup {
        seed,
        haste: if faults == Faults::NONE { 1 } else { 20 },
        from_machine: faults,
        to_machine: faults,
        ..Setup::default()
    };
    let case = Case::new("served", "sockets_serve").named(name);
    case.arg("connections", 3)
        .peer(move |wire| echoed(peer(wire, setup)?, 3, faults != Faults::NONE))
}

/// Reads an answer with its length in its head: the first line, and the body.
fn answer(stream: &mut BufReader<TcpStream>) -> Result<(String, String), String> {
    let text = |e: std::io::Error| e.to_string();
    let (mut first, mut bytes) = (String::new(), 0);
    // A connection that ends here has not answered: an empty line would be taken for the end of a head.
    if stream.read_line(&mut first).map_err(text)? == 0 {
        return Err("closed before an answer".to_string());
    }
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).map_err(text)? == 0 {
            return Err("closed in the head of an answer".to_string());
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(n) = line.to_lowercase().strip_prefix("content-length:") {
            bytes = n.trim().parse().map_err(|_| format!("length {n}"))?
        }
    }
    let mut body = vec![0; bytes];
    stream.read_exact(&mut body).map_err(text)?;
    Ok((
        first.trim().to_string(),
        String::from_utf8_lossy(&body).to_string(),
    ))
}

/// Asks on one connection, again and again, and then ends the server.
fn browse(port: u16) -> Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(text)?;
    stream.set_read_timeout(Some(hung())).map_err(text)?;
    let mut stream = BufReader::new(stream);
    let mut ask = |line: &str| {
        let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        stream.get_mut().write_all(head.as_bytes()).map_err(text)?;
        answer(&mut stream)
    };
    for i in 0..20 {
        let (first, body) = ask(&format!("GET /hello/{i}"))?;
        if first != "HTTP/1.1 200 OK" || !body.starts_with(&format!("hello {i}, from goroutine ")) {
            return Err(format!("{first}: {body}"));
        }
    }
    let (first, _) = ask("GET /nowhere")?;
    if !first.starts_with("HTTP/1.1 404") {
        return Err(format!("what is not there: {first}"));
    }
    // The machine ends right after it, and not before it has arrived.
    match ask("POST /stop")? {
        (_, body) if body == "ended\n" => Ok(()),
        (first, body) => Err(format!("{first}: {body}")),
    }
}

/// A port of the host's that nobody has at this moment.
fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    free.map_or(28_080, |at| at.port())
}

/// The demo, as a user starts it, but for the port.
fn web(board: Board, smp: u32) -> Case {
    // Chosen when the machine starts.
    let port = Arc::new(AtomicU16::new(0));
    let case = Case::new("served", "http")
        .named(&format!("{board:?}"))
        .kernel(|| demo("http"))
        .smp(smp);
    let chosen = port.clone();
    let case = case.machine(move |machine| {
        chosen.store(free_port(), Relaxed);
        let (udp, host, guest) = (false, chosen.load(Relaxed), 80);
        machine.board = board;
        machine.net = Net::User;
        machine.forwards = vec![Forward { udp, host, guest }]
    });
    let case = case.client(move |machine| {
        machine.keep_trying(|| match port.load(Relaxed) {
            0 => Err("the machine has not started".to_string()),
            port => browse(port),
        })
    });
    // The one for what is not there and the one that ends it among them.
    case.says("22 requests served")
}

/// One word to the port and back.
fn ask_port(port: u16) -> Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(text)?;
    stream.set_read_timeout(Some(hung())).map_err(text)?;
    stream.write_all(b"are you there?").map_err(text)?;
    let mut back = [0; 14];
    stream.read_exact(&mut back).map_err(text)?;
    match &back {
        b"are you there?" => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// Nobody says which ports are to be forwarded: the runner hears from the machine on which it listens.
fn followed() -> Case {
    let case = Case::new("served", "sockets_serve")
        .named("followed")
        .arg("connections", 1)
        .smp(2);
    let case = case.machine(|machine| {
        machine.net = Net::User;
        machine.json = true;
        machine.forward_listeners = true
    });
    // 8007, or one of the next if somebody has that.
    let case = case.client(|machine| {
        machine.keep_trying(|| {
            let mut tries = (8007..8027).map(ask_port);
            tries
                .find(Result::is_ok)
                .unwrap_or(Err("nobody answers".into()))
        })
    });
    case.says(" is forwarded to port 7\n").judge(|o| {
        // Scripts hear of it while the server is at work.
        let told = o
            .stdout
            .lines()
            .filter(|line| line.contains(r#""event":"forward""#));
        let told: Vec<&str> = told.collect();
        (told.len() == 1 && told[0].contains(r#""guest":7"#))
            .then_some(())
            .ok_or_else(|| format!("told: {told:?}"))
    })
}

/// The last word of a program that ends with it.
fn last_word(keep: u64, busy: u64) -> Case {
    const BYTES: u64 = 50_000;
    let case =
        Case::new("served", "sockets_last_word").named(if keep == 1 { "kept" } else { "dropped" });
    let case = case.arg("bytes", BYTES).arg("keep", keep).arg("busy", busy);
    case.peer(|wire| {
        let mut peer = peer(wire, Setup::default())?;
        let at = peer.connect_when_it_listens(SocketAddrV4::new(MACHINE, 7))?;
        let word = peer.recv_to_end(at)?;
        let sent = (0..BYTES).map(|i| i as u8);
        match word.iter().copied().eq(sent) {
            true => Ok(()),
            false => Err(format!("{} bytes of {BYTES} came", word.len())),
        }
    })
}

pub fn cases() -> Vec<Case> {
    let bad = Faults {
        lost: 30,
        doubled: 30,
        late: 30,
        damaged: 30,
    };
    vec![
        over_cable("good cable", 1, Faults::NONE).smp(2),
        over_cable("good cable", 2, Faults::NONE)
            .smp(1)
            .mode(NO_NET),
        over_cable("bad cable", 3, bad).smp(2),
        over_cable("bad cable", 4, bad).smp(4).mode(NO_NET),
        last_word(0, 0).smp(1).mode(NO_NET),
        last_word(1, 1).smp(2).mode(NO_NET),
        last_word(1, 1).smp(1),
        web(Board::Q35, 2),
        web(Board::Microvm, 1),
        followed(),
        Case::new("served", "echo")
            .kernel(|| demo("echo"))
            .machine(|machine| machine.args = vec!["200".to_string()])
            .smp(2)
            .says("200 times to the server and back"),
    ]
}
