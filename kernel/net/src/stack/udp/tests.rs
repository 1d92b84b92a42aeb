//! Datagrams made by `smoltcp` are read here, and ours by `smoltcp`.

use super::*;
use crate::stack::fuzz;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::UdpRepr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const US: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const THEM: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
const ALL: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// Counts how often it was told.
type User = AtomicU32;

fn at(address: Ipv4Addr, port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(address, port)
}

fn bind(udp: &Udp<User>, address: Ipv4Addr, port: u16) -> Arc<Socket<User>> {
    udp.bind(at(address, port), Arc::default()).unwrap()
}

const PATH: Path = Path {
    source: THEM,
    dest: US,
    to_all: false,
};

fn datagram(path: Path, from: u16, to: u16, data: &[u8]) -> Vec<u8> {
    let repr = UdpRepr {
        src_port: from,
        dst_port: to,
    };
    let mut bytes = vec![0; HEADER_BYTES + data.len()];
    repr.emit(
        &mut UdpPacket::new_unchecked(&mut bytes[..]),
        &path.source.into(),
        &path.dest.into(),
        data.len(),
        |to| to.copy_from_slice(data),
        &ChecksumCapabilities::default(),
    );
    bytes
}

fn input(udp: &Udp<User>, path: Path, payload: &[u8]) -> Verdict {
    udp.input(path, payload, false, &mut |user| {
        user.fetch_add(1, Relaxed);
    })
}

fn told(socket: &Socket<User>) -> u32 {
    socket.user().load(Relaxed)
}

#[test]
fn datagrams_keep_their_order_their_bounds_and_their_sender() {
    let udp = Udp::new(1);
    let socket = bind(&udp, ALL, 53);
    let mut buffer = [0; 8];
    assert_eq!(socket.recv(&mut buffer), Err(UdpError::WouldBlock));
    for (i, data) in [&b"one"[..], b"", b"a long one"].into_iter().enumerate() {
        let bytes = datagram(PATH, 1000 + i as u16, 53, data);
        assert_eq!(input(&udp, PATH, &bytes), Verdict::Delivered);
    }
    assert_eq!(told(&socket), 3);
    let mut got = |port, whole| {
        let wanted = Received {
            from: at(THEM, port),
            len: buffer.len().min(whole),
            whole,
        };
        assert_eq!(socket.peek(&mut buffer), Ok(wanted));
        assert_eq!(socket.recv(&mut buffer), Ok(wanted));
        buffer[..wanted.len].to_vec()
    };
    assert_eq!(got(1000, 3), b"one");
    assert_eq!(got(1001, 0), b"");
    assert_eq!(got(1002, 10), b"a long o");
    assert_eq!(socket.recv(&mut buffer), Err(UdpError::WouldBlock));
}

#[test]
fn what_is_behind_the_datagram_does_not_belong_to_it() {
    let udp = Udp::new(1);
    let socket = bind(&udp, ALL, 53);
    let padded = [&datagram(PATH, 1, 53, b"short")[..], &[0xee; 9]].concat();
    assert_eq!(input(&udp, PATH, &padded), Verdict::Delivered);
    assert_eq!(socket.recv(&mut [0; 64]).unwrap().whole, 5);
}

#[test]
fn a_queue_is_bounded_in_bytes() {
    for len in [0, 1472] {
        let udp = Udp::new(1);
        let socket = bind(&udp, ALL, 53);
        let bytes = datagram(PATH, 1, 53, &vec![7; len]);
        let fit = (0..10_000)
            .take_while(|_| input(&udp, PATH, &bytes) == Verdict::Delivered)
            .count();
        assert_eq!(fit, 212_992 / (256 + len), "{len} bytes each");
        assert_eq!(input(&udp, PATH, &bytes), Verdict::QueueFull);
        assert_eq!(socket.dropped(), 2);
        assert_eq!(told(&socket), fit as u32);
        socket.recv(&mut []).unwrap();
        assert_eq!(input(&udp, PATH, &bytes), Verdict::Delivered);
        let taken = (0..10_000).take_while(|_| socket.recv(&mut []).is_ok());
        assert_eq!(taken.count(), fit);
    }
}

#[test]
fn ports() {
    let udp: Udp<User> = Udp::new(5);
    let everywhere = bind(&udp, ALL, 80);
    let again = |address, port| udp.bind(at(address, port), Arc::default()).err();
    assert_eq!(again(ALL, 80), Some(BindError::InUse));
    assert_eq!(again(US, 80), Some(BindError::InUse));
    udp.close(&everywhere);
    let here = bind(&udp, US, 80);
    let loopback = bind(&udp, Ipv4Addr::LOCALHOST, 80);
    assert_eq!(again(ALL, 80), Some(BindError::InUse));
    udp.close(&here);
    udp.close(&here);
    assert_eq!(udp.len(), 1);
    udp.close(&loopback);
    assert!(udp.is_empty());
    assert_eq!(here.recv(&mut []), Err(UdpError::Closed));
}

#[test]
fn any_port_is_hard_to_guess_and_all_are_found() {
    let first = |seed| bind(&Udp::new(seed), ALL, 0).local().port();
    let ports: std::collections::BTreeSet<_> = (0..100).map(first).collect();
    assert!(ports.len() > 90, "{ports:?}");
    let udp = Udp::new(5);
    let one_by_one: Vec<_> = (0..100)
        .map(|_| bind(&udp, ALL, 0).local().port())
        .collect();
    let neighbours = one_by_one.windows(2).filter(|p| p[0].abs_diff(p[1]) < 16);
    assert!(neighbours.count() < 10, "{one_by_one:?}");
    let udp = Udp::new(5);
    let all = EPHEMERAL.len();
    // All but one taken: that one is found wherever the search begins.
    for port in EPHEMERAL {
        if port != 50_000 {
            bind(&udp, US, port);
        }
    }
    assert_eq!(bind(&udp, US, 0).local().port(), 50_000);
    assert_eq!(udp.len(), all);
    let none = udp.bind(at(US, 0), Arc::default()).err();
    assert_eq!(none, Some(BindError::NoPorts));
}

#[test]
fn the_one_that_fits_best_gets_it() {
    let udp = Udp::new(1);
    let here = bind(&udp, US, 80);
    let loopback = bind(&udp, Ipv4Addr::LOCALHOST, 80);
    assert_eq!(
        input(&udp, PATH, &datagram(PATH, 5, 80, b"x")),
        Verdict::Delivered
    );
    assert_eq!((told(&here), told(&loopback)), (1, 0));
    // A connected socket hears its peer alone.
    here.connect(Some(at(THEM, 6)));
    assert_eq!(
        input(&udp, PATH, &datagram(PATH, 5, 80, b"x")),
        Verdict::Nobody
    );
    assert_eq!(
        input(&udp, PATH, &datagram(PATH, 6, 80, b"x")),
        Verdict::Delivered
    );
    assert_eq!((told(&here), told(&loopback)), (2, 0));
    assert_eq!(
        input(&udp, PATH, &datagram(PATH, 6, 81, b"x")),
        Verdict::Nobody
    );
}

#[test]
fn everybody_gets_what_is_for_all() {
    let udp = Udp::new(1);
    let (a, b) = (bind(&udp, ALL, 68), bind(&udp, ALL, 69));
    let path = Path {
        dest: Ipv4Addr::BROADCAST,
        to_all: true,
        ..PATH
    };
    assert_eq!(
        input(&udp, path, &datagram(path, 67, 68, b"x")),
        Verdict::Delivered
    );
    assert_eq!((told(&a), told(&b)), (1, 0));
    // One that is bound to an address of ours hears what is sent to that one alone (Linux: likewise).
    let here = bind(&udp, US, 70);
    assert_eq!(
        input(&udp, path, &datagram(path, 67, 70, b"x")),
        Verdict::Nobody
    );
    assert_eq!(told(&here), 0);
    assert_eq!(
        a.dest(Some(at(Ipv4Addr::BROADCAST, 1)), true),
        Err(UdpError::NoBroadcast)
    );
    a.set_broadcast(true);
    assert!(a.dest(Some(at(Ipv4Addr::BROADCAST, 1)), true).is_ok());
}

#[test]
fn only_a_connected_socket_hears_that_nobody_is_there_and_once() {
    let udp = Udp::new(1);
    let socket = bind(&udp, ALL, 4000);
    let quoted = Quoted {
        source: US,
        dest: THEM,
        protocol: IpProtocol::Udp,
        source_port: 4000,
        dest_port: 9,
        seq: 0,
    };
    let say = |reason, quoted: &Quoted| {
        udp.unreachable(reason, quoted, &mut |user| {
            user.fetch_add(1, Relaxed);
        })
    };
    assert!(!say(Reason::Port, &quoted));
    assert_eq!(socket.dest(None, false), Err(UdpError::NotConnected));
    socket.connect(Some(at(THEM, 9)));
    let tcp = IpProtocol::Tcp;
    assert!(!say(
        Reason::Port,
        &Quoted {
            protocol: tcp,
            ..quoted
        }
    ));
    assert!(!say(
        Reason::Port,
        &Quoted {
            dest_port: 8,
            ..quoted
        }
    ));
    assert!(!say(
        Reason::Port,
        &Quoted {
            source_port: 1,
            ..quoted
        }
    ));
    assert!(!say(Reason::Host, &quoted));
    assert!(!socket.is_readable());
    assert!(say(Reason::Port, &quoted));
    assert_eq!(told(&socket), 1);
    assert!(socket.is_readable());
    assert_eq!(socket.recv(&mut []), Err(UdpError::Refused));
    assert_eq!(socket.recv(&mut []), Err(UdpError::WouldBlock));
    assert!(say(Reason::Protocol, &quoted));
    assert_eq!(socket.dest(None, false), Err(UdpError::Refused));
    assert_eq!(socket.dest(None, false), Ok(at(THEM, 9)));
    assert_eq!(socket.take_error(), None);
}

#[test]
fn malformed() {
    let udp = Udp::new(1);
    bind(&udp, ALL, 53);
    let good = datagram(PATH, 1, 53, b"data");
    assert_eq!(input(&udp, PATH, &good[..7]), Verdict::Malformed);
    assert_eq!(input(&udp, PATH, &good[..11]), Verdict::Malformed);
    assert_eq!(
        input(&udp, PATH, &datagram(PATH, 1, 0, b"")),
        Verdict::Malformed
    );
    let mut short = good.clone();
    short[5] = 7;
    assert_eq!(input(&udp, PATH, &short), Verdict::Malformed);
    let mut wrong = good.clone();
    wrong[9] ^= 1;
    assert_eq!(input(&udp, PATH, &wrong), Verdict::Checksum);
    // The device has looked, or there is no sum: it is taken as it is.
    assert_eq!(
        udp.input(PATH, &wrong, true, &mut |_| ()),
        Verdict::Delivered
    );
    wrong[6..8].fill(0);
    assert_eq!(input(&udp, PATH, &wrong), Verdict::Delivered);
    // The sum is over the addresses as well.
    let other = Path {
        source: ALL,
        ..PATH
    };
    assert_eq!(input(&udp, other, &good), Verdict::Checksum);
}

#[test]
fn fuzz_datagrams() {
    let udp = Udp::new(1);
    let (a, b) = (bind(&udp, ALL, 53), bind(&udp, US, 0x3f00));
    let seeds = [
        datagram(PATH, 1, 53, b"some data"),
        datagram(PATH, 1, 0x3f00, b""),
        datagram(PATH, 1, 54, b"nobody's"),
    ];
    let mut seen = [0u64; 5];
    fuzz::run(&seeds, |bytes| {
        // Half of them with a sum that is right.
        let checked = bytes.last().is_some_and(|last| last & 1 == 0);
        let verdict = udp.input(PATH, bytes, checked, &mut |_| ());
        seen[verdict as usize] += 1;
        // Taken out more slowly than it comes.
        if seen.iter().sum::<u64>() % 64 == 0 {
            let _ = (a.recv(&mut [0; 4]), b.recv(&mut [0; 4]));
        }
    });
    assert!(seen.iter().all(|&n| n != 0), "{seen:?}");
}
