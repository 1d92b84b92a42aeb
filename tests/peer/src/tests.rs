//! The peer against another one.

use super::*;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const PORT: u16 = 7;

fn server(wire: Wire, seed: u64, haste: u32) -> Peer {
    let setup = Setup {
        mac: [0x52, 0x54, 0, 0, 0, 15],
        ip: SERVER,
        seed,
        haste,
        ..Setup::default()
    };
    Peer::new(wire, setup)
}

fn at(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(SERVER, port)
}

fn pattern(n: usize) -> Vec<u8> {
    let mut rng = base::Rng::new(n as u64);
    (0..n).map(|_| rng.next_u64() as u8).collect()
}

/// `client` on one end and a server on the other; both have to be content.
fn both(
    setup: Setup,
    client: impl FnOnce(&mut Peer) -> Result<(), String>,
    serve: impl FnOnce(&mut Peer) -> Result<(), String> + Send + 'static,
) -> [Tally; 2] {
    let (ours, theirs) = Wire::pair().unwrap();
    let server = std::thread::spawn(move || {
        let mut peer = server(theirs, setup.seed + 1, setup.haste);
        serve(&mut peer).map(|()| peer)
    });
    let mut peer = Peer::new(ours, setup);
    client(&mut peer).unwrap();
    // The server may still wait for an acknowledgement.
    peer.until("the server's end", |_| {
        Ok(server.is_finished().then_some(()))
    })
    .unwrap();
    server.join().unwrap().unwrap();
    peer.tallies()
}

fn echo_once(peer: &mut Peer) -> Result<(), String> {
    let at = peer.listen(PORT)?;
    peer.accepted(at)?;
    loop {
        let some = peer.recv_some(at)?;
        if some.is_empty() {
            return peer.finish(at);
        }
        peer.send_all(at, &some)?
    }
}

/// Sends and receives by turns, in pieces.
fn talk(peer: &mut Peer, n: usize) -> Result<(), String> {
    let socket = peer.connect(at(PORT))?;
    let said = pattern(n);
    for part in said.chunks(20_000) {
        peer.send_all(socket, part)?;
        let heard = peer.recv_exact(socket, part.len())?;
        assert!(heard == part, "not what was said");
    }
    peer.shut(socket);
    assert!(peer.recv_to_end(socket)?.is_empty());
    peer.finish(socket)
}

#[test]
fn echo() {
    let tallies = both(Setup::default(), |peer| talk(peer, 300_000), echo_once);
    assert!(
        tallies
            .iter()
            .all(|t| t.frames > 200 && t.lost + t.doubled + t.late + t.damaged == 0)
    );
}

/// On a cable that does everything wrong all arrives, in order, once; and it was as wrong as that.
#[test]
fn bad_cable() {
    let faults = Faults {
        lost: 50,
        doubled: 50,
        late: 50,
        damaged: 50,
    };
    let setup = Setup {
        from_machine: faults,
        to_machine: faults,
        seed: 11,
        haste: 20,
        ..Setup::default()
    };
    let tallies = both(setup, |peer| talk(peer, 200_000), echo_once);
    assert!(tallies.iter().all(Tally::has_all), "{tallies:?}");
}

#[test]
fn tiny_window() {
    let client = |peer: &mut Peer| {
        let socket = peer.tcp_socket(16, 1024);
        peer.dial_with(socket, at(PORT))?;
        peer.connected(socket)?;
        let said = pattern(2000);
        peer.send_all(socket, &said)?;
        assert!(peer.recv_exact(socket, said.len())? == said);
        peer.reset(socket);
        Ok(())
    };
    let serve = |peer: &mut Peer| match echo_once(peer) {
        Err(error) if error.contains("reset") => Ok(()),
        other => Err(format!("{other:?}")),
    };
    both(Setup::default(), client, serve);
}

#[test]
fn refused() {
    let client = |peer: &mut Peer| {
        let error = peer.connect(at(9)).unwrap_err();
        assert!(error.contains("refused"), "{error}");
        let socket = peer.udp_socket(5000)?;
        peer.send_to(socket, b"end", at(PORT))
    };
    let serve = |peer: &mut Peer| {
        let socket = peer.udp_socket(PORT)?;
        let (bytes, from) = peer.recv_from(socket)?;
        assert_eq!((bytes.as_slice(), from.port()), (&b"end"[..], 5000));
        Ok(())
    };
    both(Setup::default(), client, serve);
}

/// A SYN made by hand gets its answer, a segment out of the blue a reset; the stack here hears of neither.
#[test]
fn by_hand() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let client = |peer: &mut Peer| {
        let (seen, heard) = std::sync::mpsc::channel();
        peer.sniff(move |frame| match Segment::parse(frame) {
            Some(segment) => seen.send(segment).is_ok(),
            None => false,
        });
        // Lets both know each other's addresses.
        let udp = peer.udp_socket(5000)?;
        peer.send_to(udp, b"who", at(9))?;
        let (mac, ip) = (peer.setup().mac, peer.setup().ip);
        let from = SocketAddrV4::new(ip, 6000);
        let server = [0x52, 0x54, 0, 0, 0, 15];
        peer.send_raw(&arp_reply(mac, ip, (server, SERVER)));
        peer.send_raw(&Segment::syn(from, at(PORT), 77).frame(mac, server));
        let next = |peer: &mut Peer| peer.until("a segment", |_| Ok(heard.try_recv().ok()));
        let answer = next(peer)?;
        assert_eq!(
            (answer.flags, answer.ack, answer.to),
            (Flags::Syn, Some(78), from)
        );
        let rst = Segment {
            flags: Flags::Rst,
            ..Segment::syn(from, at(PORT), 78)
        };
        peer.send_raw(&rst.frame(mac, server));
        let stray = Segment {
            flags: Flags::None,
            ack: Some(5),
            ..Segment::syn(from, at(99), 1)
        };
        peer.send_raw(&stray.frame(mac, server));
        assert_eq!(next(peer)?.flags, Flags::Rst);
        DONE.store(true, Relaxed);
        Ok(())
    };
    let serve = |peer: &mut Peer| {
        peer.listen(PORT)?;
        peer.until("the client's end", |_| Ok(DONE.load(Relaxed).then_some(())))
    };
    both(Setup::default(), client, serve);
}

#[test]
fn frames_by_hand() {
    let segment = Segment {
        flags: Flags::Fin,
        ack: Some(u32::MAX),
        bytes: b"bytes".to_vec(),
        ..Segment::syn(at(1), SocketAddrV4::new(Ipv4Addr::LOCALHOST, 2), 5)
    };
    let mut frame = segment.frame([1; 6], [2; 6]);
    assert_eq!(Segment::parse(&frame), Some(segment));
    let arp = arp_request([1; 6], SERVER, SERVER);
    assert_eq!(
        (&arp[..6], &arp[12..14], Segment::parse(&arp)),
        (&[0xff; 6][..], &[8, 6][..], None)
    );
    *frame.last_mut().unwrap() ^= 1;
    assert_eq!(Segment::parse(&frame), None);
}

/// An address is offered, given, and another one refused.
#[test]
fn dhcp() {
    use smoltcp::wire::{DhcpMessageType as Kind, DhcpPacket, DhcpRepr};
    let (ours, mut theirs) = Wire::pair().unwrap();
    let mut peer = Peer::new(ours, Setup::default());
    peer.serve_dhcp(SERVER);
    let ask = |kind, wanted: Option<Ipv4Addr>| {
        let repr = DhcpRepr {
            message_type: kind,
            transaction_id: 99,
            secs: 0,
            client_hardware_address: EthernetAddress([2; 6]),
            client_ip: Ipv4Addr::UNSPECIFIED,
            your_ip: Ipv4Addr::UNSPECIFIED,
            server_ip: Ipv4Addr::UNSPECIFIED,
            router: None,
            subnet_mask: None,
            relay_agent_ip: Ipv4Addr::UNSPECIFIED,
            broadcast: true,
            requested_ip: wanted,
            client_identifier: None,
            server_identifier: None,
            parameter_request_list: None,
            dns_servers: None,
            max_size: None,
            lease_duration: None,
            renew_duration: None,
            rebind_duration: None,
            additional_options: &[],
        };
        let mut bytes = vec![0; repr.buffer_len()];
        repr.emit(&mut DhcpPacket::new_unchecked(&mut bytes[..]))
            .unwrap();
        let from = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
        let to = SocketAddrV4::new(Ipv4Addr::BROADCAST, 67);
        datagram(([2; 6], from), ([0xff; 6], to), &bytes)
    };
    let answers = [
        (Kind::Discover, None, Kind::Offer),
        (Kind::Request, Some(SERVER), Kind::Ack),
        (Kind::Request, Some(Ipv4Addr::LOCALHOST), Kind::Nak),
    ];
    for (kind, wanted, answer) in answers {
        theirs.send(&ask(kind, wanted));
        theirs.pump(Duration::ZERO);
        peer.poll();
        peer.poll();
        let (from, to, bytes) = datagram_in(&theirs.recv(LIMIT).unwrap()).unwrap();
        assert_eq!((from.port(), to.port()), (67, 68));
        let packet = DhcpPacket::new_checked(bytes.as_slice()).unwrap();
        let got = DhcpRepr::parse(&packet).unwrap();
        assert_eq!((got.message_type, got.transaction_id), (answer, 99));
        let gives = answer != Kind::Nak;
        assert_eq!(got.router, gives.then_some(Ipv4Addr::new(10, 0, 2, 2)));
        assert_eq!(
            got.subnet_mask,
            gives.then_some(Ipv4Addr::new(255, 255, 255, 0))
        );
        assert_eq!(got.your_ip == SERVER, gives);
    }
    assert_eq!(peer.leases(), 1);
}

/// The same seed, the same faults; nothing is held for ever.
#[test]
fn faults_repeat() {
    let faults = Faults {
        lost: 100,
        doubled: 100,
        late: 100,
        damaged: 100,
    };
    let run = |seed| {
        let mut injector = Injector::new(faults, seed);
        let mut out = Vec::new();
        for i in 0..2000_u32 {
            injector.put(i.to_be_bytes().to_vec(), Duration::ZERO);
            out.extend(std::iter::from_fn(|| injector.take(Duration::ZERO)))
        }
        out.extend(std::iter::from_fn(|| injector.take(Duration::from_secs(1))));
        (out, injector.tally())
    };
    let (out, tally) = run(3);
    assert_eq!((&out, tally), (&run(3).0, run(3).1));
    assert_ne!(out, run(4).0);
    assert_eq!(out.len() as u64, tally.frames - tally.lost + tally.doubled);
    for n in [tally.lost, tally.doubled, tally.late, tally.damaged] {
        assert!((120..280).contains(&n), "{tally:?}");
    }
    assert!(out.windows(2).any(|w| w[0] > w[1]), "nothing out of order");
}

/// Frames survive however the stream is cut; who does not read is noticed by who sends.
#[test]
fn wire() {
    let (mut a, mut b) = Wire::pair().unwrap();
    let frame = vec![7; 1514];
    let mut sent = 0;
    while a.try_send(&frame) {
        sent += 1;
    }
    assert!(sent > 10 && a.unsent() != 0, "{sent}");
    for _ in 0..sent {
        a.pump(Duration::ZERO);
        assert_eq!(b.recv(LIMIT).unwrap(), frame);
    }
    b.send(b"");
    b.send(b"x");
    drop((b.pump(Duration::ZERO), b));
    assert_eq!(
        (a.recv(LIMIT).unwrap(), a.recv(LIMIT).unwrap()),
        (vec![], vec![b'x'])
    );
    assert!(a.recv(LIMIT).unwrap_err().contains("closed"));
}

#[test]
fn listener() {
    let listener = Listener::new().unwrap();
    let error = listener.accept(|| true).err().unwrap();
    assert!(error.contains("did not come"), "{error}");
    let mut end =
        Wire::new(std::os::unix::net::UnixStream::connect(listener.path()).unwrap()).unwrap();
    let mut wire = listener.accept(|| false).unwrap();
    end.send(b"frame");
    end.pump(Duration::ZERO);
    assert_eq!(wire.recv(LIMIT).unwrap(), b"frame");
    let path = listener.path().to_path_buf();
    drop(listener);
    assert!(!path.exists());
}
